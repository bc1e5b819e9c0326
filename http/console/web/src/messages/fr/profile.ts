import type { Messages } from '../en/index.ts';

const profile: Messages['profile'] = {};
export default profile;
