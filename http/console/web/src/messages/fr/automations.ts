import type { Messages } from '../en/index.ts';

const automations: Messages['automations'] = {};
export default automations;
