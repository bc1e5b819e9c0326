import activity from './activity.ts';
import automations from './automations.ts';
import axis from './axis.ts';
import common from './common.ts';
import data from './data.ts';
import editor from './editor.ts';
import errors from './errors.ts';
import form from './form.ts';
import home from './home.ts';
import keys from './keys.ts';
import profile from './profile.ts';
import shell from './shell.ts';
import signin from './signin.ts';
import states from './states.ts';
import waits from './waits.ts';
import workspaces from './workspaces.ts';

const en = {
  activity,
  automations,
  axis,
  common,
  data,
  editor,
  errors,
  form,
  home,
  keys,
  profile,
  shell,
  signin,
  states,
  waits,
  workspaces,
};
export default en;

/** What every language has. A key that is missing in another language fails the type check. */
export type Messages = typeof en;
