import { t } from '../i18n.svelte.ts';

/** "You need the right to update automations here." */
export function missingRight(right: { action: string; subject: string; unknown?: boolean }): string {
  return right.unknown ? t.states.rightsUnknown : t.states.missingRight(actionName(right.action), subjectName(right.subject));
}

export function actionName(action: string): string {
  return (t.states.actions as Record<string, string>)[action] ?? action;
}

export function subjectName(subject: string): string {
  return (t.states.subjects as Record<string, string>)[subject] ?? subject;
}
