/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that works with OpenCL in all the ways that the loader has functions for: buffers, images and shared
 * memory, kernels, transfers that wait and that do not, events. It counts what it calls.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#include "job.h"

#define MANY 1024
#define BYTES (MANY * sizeof(cl_int))
#define SIDE 8

static struct job job = { .name = "opencl_job", .rounds = 3 };
static struct counts counted, thrown_away, *counts = &thrown_away;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static long sum;

#define DO(FUNCTION, ARGUMENTS, bytes) (count_call(counts, #FUNCTION, bytes), FUNCTION ARGUMENTS)

static const char *source = "kernel void twice(global int *v) { v[get_global_id(0)] *= 2; }\n"
			    "kernel void plus(global int *v, int n)\n"
			    "{ v[get_global_id(0) + 32 * get_global_id(1)] += n; }\n";

static void must(cl_int result, const char *what)
{
	if (result == CL_SUCCESS)
		return;
	fprintf(stderr, "opencl_job: %s: %d\n", what, result);
	exit(1);
}

#define MUST(FUNCTION, ARGUMENTS, bytes) must(DO(FUNCTION, ARGUMENTS, bytes), #FUNCTION)

static void buffers(cl_kernel twice, cl_kernel plus)
{
	cl_int numbers[MANY], one = 1, status = 1, *mapped, failed;
	size_t line = MANY, plane[2] = { 32, 16 };
	cl_buffer_region half = { 0, BYTES / 2 };
	cl_event written, ran, marked;
	cl_mem a = DO(clCreateBuffer, (context, CL_MEM_READ_WRITE, BYTES, NULL, NULL), BYTES);
	cl_mem b = DO(clCreateBuffer, (context, CL_MEM_READ_WRITE, 2 * BYTES, NULL, NULL), 2 * BYTES);
	cl_mem part = DO(clCreateSubBuffer, (a, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half, NULL), 0);

	for (int i = 0; i < MANY; i++)
		numbers[i] = i;
	clSetKernelArg(twice, 0, sizeof(a), &a);
	clSetKernelArg(plus, 0, sizeof(a), &a);
	clSetKernelArg(plus, 1, sizeof(one), &one);
	MUST(clEnqueueWriteBuffer, (queue, a, CL_FALSE, 0, BYTES, numbers, 0, NULL, &written), BYTES);
	MUST(clEnqueueNDRangeKernel, (queue, twice, 1, NULL, &line, NULL, 1, &written, &ran), 0);
	MUST(clFlush, (queue), 0);
	MUST(clWaitForEvents, (1, &ran), 0);
	MUST(clGetEventInfo, (ran, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL), 0);
	sum += status; /* 0: complete */
	for (int i = 0; i < 3; i++)
		MUST(clEnqueueNDRangeKernel, (queue, plus, 2, NULL, plane, NULL, 0, NULL, NULL), 0);
	MUST(clEnqueueTask, (queue, twice, 0, NULL, NULL), 0);
	MUST(clEnqueueBarrierWithWaitList, (queue, 0, NULL, NULL), 0);
	MUST(clEnqueueMarkerWithWaitList, (queue, 0, NULL, &marked), 0);
	MUST(clEnqueueCopyBuffer, (queue, a, b, 0, BYTES, BYTES, 0, NULL, NULL), BYTES);
	MUST(clEnqueueFillBuffer, (queue, b, &one, sizeof(one), 0, BYTES, 0, NULL, NULL), BYTES);
	MUST(clFinish, (queue), 0);
	MUST(clEnqueueReadBuffer, (queue, b, CL_TRUE, BYTES / 2, BYTES, numbers, 0, NULL, NULL), BYTES);
	for (int i = 0; i < MANY; i++)
		sum += numbers[i];
	/* One that fails: the queue is none. */
	failed = DO(clEnqueueReadBuffer, (NULL, b, CL_TRUE, 0, BYTES, numbers, 0, NULL, NULL), BYTES);
	sum += failed != CL_SUCCESS;
	mapped = DO(clEnqueueMapBuffer, (queue, a, CL_TRUE, CL_MAP_READ, 0, BYTES / 4, 0, NULL, NULL, &failed),
		    BYTES / 4);
	must(failed, "clEnqueueMapBuffer");
	sum += mapped[1];
	MUST(clEnqueueUnmapMemObject, (queue, a, mapped, 0, NULL, NULL), 0);
	MUST(clEnqueueMigrateMemObjects, (queue, 1, &a, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL), 0);
	MUST(clFinish, (queue), 0);
	clReleaseEvent(written);
	clReleaseEvent(ran);
	clReleaseEvent(marked);
	MUST(clReleaseMemObject, (part), 0);
	MUST(clReleaseMemObject, (b), 0);
	MUST(clReleaseMemObject, (a), 0);
}

static void rectangles_and_images(void)
{
	size_t zero[3] = { 0, 0, 0 }, rows[3] = { SIDE, SIDE, 1 }, row = SIDE;
	cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
	cl_image_desc shape = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE };
	unsigned char points[SIDE * SIDE * 4] = { 7 };
	cl_uint color[4] = { 1, 2, 3, 4 };
	cl_mem flat = DO(clCreateBuffer, (context, CL_MEM_READ_WRITE, sizeof(points), NULL, NULL), sizeof(points));
	cl_mem other = DO(clCreateBuffer, (context, CL_MEM_READ_WRITE, sizeof(points), NULL, NULL), sizeof(points));
	cl_mem image = DO(clCreateImage, (context, CL_MEM_READ_WRITE, &format, &shape, NULL, NULL), 0);

	MUST(clEnqueueWriteBufferRect, (queue, flat, CL_TRUE, zero, zero, rows, row, 0, row, 0, points, 0, NULL, NULL),
	     0);
	MUST(clEnqueueCopyBufferRect, (queue, flat, other, zero, zero, rows, row, 0, row, 0, 0, NULL, NULL), 0);
	MUST(clEnqueueReadBufferRect, (queue, other, CL_TRUE, zero, zero, rows, row, 0, row, 0, points, 0, NULL, NULL),
	     0);
	MUST(clEnqueueWriteImage, (queue, image, CL_TRUE, zero, rows, 0, 0, points, 0, NULL, NULL), 0);
	MUST(clEnqueueCopyImageToBuffer, (queue, image, flat, zero, rows, 0, 0, NULL, NULL), 0);
	MUST(clEnqueueCopyBufferToImage, (queue, flat, image, 0, zero, rows, 0, NULL, NULL), 0);
	MUST(clEnqueueFillImage, (queue, image, color, zero, rows, 0, NULL, NULL), 0);
	MUST(clEnqueueReadImage, (queue, image, CL_TRUE, zero, rows, 0, 0, points, 0, NULL, NULL), 0);
	sum += points[1];
	MUST(clReleaseMemObject, (image), 0);
	MUST(clReleaseMemObject, (other), 0);
	MUST(clReleaseMemObject, (flat), 0);
}

static void shared_memory(void)
{
	cl_int seven = 7, *a = DO(clSVMAlloc, (context, CL_MEM_READ_WRITE, BYTES, 0), BYTES);
	cl_int *b = DO(clSVMAlloc, (context, CL_MEM_READ_WRITE, BYTES, 0), BYTES);

	if (!a || !b)
		must(CL_OUT_OF_RESOURCES, "clSVMAlloc");
	MUST(clEnqueueSVMMemFill, (queue, a, &seven, sizeof(seven), BYTES / 2, 0, NULL, NULL), BYTES / 2);
	MUST(clEnqueueSVMMemcpy, (queue, CL_TRUE, b, a, BYTES / 4, 0, NULL, NULL), BYTES / 4);
	MUST(clEnqueueSVMMap, (queue, CL_TRUE, CL_MAP_READ, b, BYTES, 0, NULL, NULL), BYTES);
	sum += b[0];
	MUST(clEnqueueSVMUnmap, (queue, b, 0, NULL, NULL), 0);
	MUST(clFinish, (queue), 0);
	DO(clSVMFree, (context, b), 0);
	DO(clSVMFree, (context, a), 0);
}

static void round_of_work(void)
{
	cl_program program = DO(clCreateProgramWithSource, (context, 1, &source, NULL, NULL), 0);
	cl_event go;
	cl_kernel twice, plus;

	MUST(clBuildProgram, (program, 1, &device, "", NULL, NULL), 0);
	twice = DO(clCreateKernel, (program, "twice", NULL), 0);
	plus = DO(clCreateKernel, (program, "plus", NULL), 0);
	go = DO(clCreateUserEvent, (context, NULL), 0);
	MUST(clSetUserEventStatus, (go, CL_COMPLETE), 0);
	MUST(clWaitForEvents, (1, &go), 0);
	buffers(twice, plus);
	rectangles_and_images();
	shared_memory();
	clReleaseEvent(go);
	clReleaseKernel(plus);
	clReleaseKernel(twice);
	clReleaseProgram(program);
}

static void open_device(void)
{
	cl_platform_id platform;

	must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	queue = clCreateCommandQueue(context, device, 0, NULL);
}

int main(int argc, char **argv)
{
	long round = 0;

	job.rank = -1;
	job_options(&job, argc, argv, NULL);
	open_device();
	for (long i = 0; i < job.warmup; i++)
		round_of_work();
	job_begin(&job);
	counts = &counted;
	for (; job_more(&job, round); round++)
		round_of_work();
	counts = &thrown_away;
	job_finish(&job);
	printf("checksum %ld\n", sum);
	return job_truth(&job, round, 0, &counted, NULL, 0);
}
