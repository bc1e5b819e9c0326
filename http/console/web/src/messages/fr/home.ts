import type { Messages } from '../en/index.ts';

const home: Messages['home'] = {};
export default home;
