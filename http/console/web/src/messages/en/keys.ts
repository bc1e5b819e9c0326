import type { KeyId } from '../../keys.ts';

const keys: Record<KeyId, string> = {
  palette: 'Open the palette',
  shortcuts: 'Show all shortcuts',
  filter: 'Filter',
  new: 'New',
  close: 'Close what is on top',
  save: 'Save',
  confirm: 'Save and run; confirm a dialog',
  nextProblem: 'Next problem or difference',
  previousProblem: 'Previous problem or difference',
  down: 'Next row',
  up: 'Previous row',
  open: 'Open the row',
  select: 'Select the row',
  unpushedOnly: 'Unpushed only',
  hold: 'Hold or go on',
  expand: 'Expand',
  trace: 'Open the trace',
  edit: 'Edit',
  mark: 'Mark this moment, to compare with it',
  compare: 'Compare with the marked moment',
  undo: 'Undo the change',
};
export default keys;
