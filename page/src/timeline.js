// SPDX-License-Identifier: BSD-2-Clause
export const timeline = {
  id: 'timeline',
  title: 'Timeline',
  needs: ({ facts }) => facts.lanes.length > 0,
  render() {},
};
