import type { Messages } from '../en/index.ts';

const activity: Messages['activity'] = {};
export default activity;
