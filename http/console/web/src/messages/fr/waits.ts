import type { Messages } from '../en/index.ts';

const waits: Messages['waits'] = {};
export default waits;
