/** The caret of a field, as a function that puts it back where the field is as it was. */
function caretOf(element: Element | null): () => void {
  if (!(element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) || element.selectionStart === null) return () => {};
  const { value, selectionStart, selectionEnd } = element;
  return () => {
    if (document.activeElement === element && element.value === value) element.setSelectionRange(selectionStart, selectionEnd);
  };
}

/**
 * Opens a dialog over everything while it is on the page, for `{@attach modal()}`. The focus
 * goes where `first` says, and back to where it was when the dialog goes, however it goes: closed,
 * or taken from the page while it is open, of which browsers forget what had the focus.
 */
export function modal(first?: (dialog: HTMLDialogElement) => HTMLElement | null | undefined): (dialog: HTMLDialogElement) => () => void {
  return (dialog) => {
    const before = document.activeElement as HTMLElement | null;
    // Chromium gives the focus back without the caret when the dialog leaves the page before the
    // next layout, and what is typed then is lost: the caret is put back, too.
    const caret = caretOf(before);
    dialog.showModal();
    first?.(dialog)?.focus();
    dialog.addEventListener('close', caret, { capture: true });
    return () => {
      dialog.removeEventListener('close', caret, { capture: true });
      if (!document.activeElement || document.activeElement === document.body) before?.focus({ preventScroll: true });
      caret();
    };
  };
}

/**
 * Closes a dialog by a click beside it, for `{@attach closedBeside(close)}`. The pointer must have gone down beside it, too: a text
 * that is selected with the pointer leaving the dialog closes nothing.
 */
export function closedBeside(close: () => void): (dialog: HTMLDialogElement) => () => void {
  return (dialog) => {
    let pressed = false;
    const press = (event: Event): void => void (pressed = event.target === dialog);
    const click = (event: Event): void => {
      if (pressed && event.target === dialog) close();
    };
    dialog.addEventListener('pointerdown', press);
    dialog.addEventListener('click', click);
    return () => {
      dialog.removeEventListener('pointerdown', press);
      dialog.removeEventListener('click', click);
    };
  };
}
