/**
 * The choice of one bar of a chart, or of a range of them: by pointer, and by the arrow keys with Shift. Enter and letting go
 * of the pointer apply it.
 */
export class BarChoice {
  private at = $state<number>();
  private anchor = $state<number>();
  private dragging = false;
  readonly current = $derived.by(() => Math.min(this.at ?? this.count() - 1, this.count() - 1));
  /** What is chosen or pointed at; undefined: nothing. */
  readonly range = $derived.by(() => {
    if (this.at === undefined && this.anchor === undefined) return undefined;
    const from = Math.min(this.anchor ?? this.current, this.count() - 1);
    return { first: Math.min(from, this.current), last: Math.max(from, this.current) };
  });

  constructor(
    private readonly count: () => number,
    private readonly onapply: (first: number, last: number) => void,
  ) {}

  private apply(): void {
    const { first, last } = this.range ?? { first: this.current, last: this.current };
    this.clear();
    if (last >= 0) this.onapply(first, last);
  }

  readonly clear = (): void => {
    this.at = this.anchor = undefined;
  };

  readonly keydown = (event: KeyboardEvent): void => {
    if (this.count() === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const { current } = this;
    const to = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: this.count() - 1, PageUp: current - 10, PageDown: current + 10 }[event.key];
    if (to !== undefined) {
      if (!event.shiftKey) this.anchor = undefined;
      else this.anchor ??= current;
      this.at = Math.max(0, Math.min(this.count() - 1, to));
    } else if (event.key === 'Enter' || event.key === ' ') this.apply();
    else if (event.key === 'Escape' && this.at !== undefined) this.clear();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  private barAt(event: PointerEvent): number {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return Math.max(0, Math.min(this.count() - 1, Math.floor(((event.clientX - box.left) / box.width) * this.count())));
  }
  readonly down = (event: PointerEvent): void => {
    if (event.button !== 0 || this.count() === 0) return;
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    this.dragging = true;
    this.at = this.anchor = this.barAt(event);
  };
  readonly move = (event: PointerEvent): void => {
    if (this.count() > 0 && (this.dragging || event.pointerType === 'mouse')) this.at = this.barAt(event);
  };
  readonly up = (): void => {
    if (!this.dragging) return;
    this.dragging = false;
    this.apply();
  };
  readonly leave = (): void => {
    if (!this.dragging) this.clear();
  };
}
