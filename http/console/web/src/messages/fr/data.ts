import type { Messages } from '../en/index.ts';

const data: Messages['data'] = {};
export default data;
