import type { CoreMessages } from '../en/index.ts';
import axis from './axis.ts';
import changes from './changes.ts';
import common from './common.ts';
import diff from './diff.ts';
import editor from './editor.ts';
import errors from './errors.ts';
import form from './form.ts';
import graph from './graph.ts';
import imported from './imported.ts';
import keys from './keys.ts';
import shell from './shell.ts';
import signin from './signin.ts';
import states from './states.ts';

const fr: CoreMessages = {
  axis,
  changes,
  common,
  diff,
  editor,
  errors,
  form,
  graph,
  imported,
  keys,
  shell,
  signin,
  states,
};
export default fr;
