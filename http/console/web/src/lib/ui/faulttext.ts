import { t } from '../i18n.svelte.ts';
import type { Fault } from './typedfield.ts';

/** The fault of a field in words. */
export function faultText(fault: Fault): string {
  switch (fault.key) {
    case 'min':
      return t.form.min(fault.value!);
    case 'max':
      return t.form.max(fault.value!);
    case 'minLength':
      return t.form.minLength(fault.value!);
    case 'maxLength':
      return t.form.maxLength(fault.value!);
    default:
      return t.form[fault.key];
  }
}
