import type { CoreMessages } from '../en/index.ts';
import axis from './axis.ts';
import common from './common.ts';
import editor from './editor.ts';
import errors from './errors.ts';
import form from './form.ts';
import keys from './keys.ts';
import shell from './shell.ts';
import signin from './signin.ts';
import states from './states.ts';

const fr: CoreMessages = {
  axis,
  common,
  editor,
  errors,
  form,
  keys,
  shell,
  signin,
  states,
};
export default fr;
