import type { Messages } from '../en/index.ts';

const workspaces: Messages['workspaces'] = {};
export default workspaces;
