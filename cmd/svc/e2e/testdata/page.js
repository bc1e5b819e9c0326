// What the tests look at in a page. It is evaluated there and returns its functions.
(() => {
  const name = (element) => {
    const text = (element.innerText || element.getAttribute('aria-label') || '').trim().replace(/\s+/g, ' ').slice(0, 60);
    return `<${element.localName}${element.id ? '#' + element.id : ''}${element.classList.length ? '.' + [...element.classList].join('.') : ''}> ${text}`;
  };

  /** All roots of the page: the document and the shadow roots in it. */
  const roots = (root = document) => [root, ...[...root.querySelectorAll('*')].flatMap((e) => (e.shadowRoot ? roots(e.shadowRoot) : []))];

  /** Whether an element is there for screen readers only. */
  const isVisuallyHidden = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const box = e.getBoundingClientRect();
      const style = getComputedStyle(e);
      if (style.clipPath === 'inset(50%)' || (style.overflow === 'hidden' && box.width <= 1 && box.height <= 1)) return true;
    }
    return false;
  };

  /** Texts of which a part is cut off although nothing says so: no ellipsis, no way to scroll there. */
  const clippedTexts = () => {
    const found = new Set();
    for (const root of roots()) {
      const texts = document.createTreeWalker(root === document ? document.body : root, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        const text = texts.currentNode;
        const owner = text.parentElement;
        if (!text.data.trim() || !owner?.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || isVisuallyHidden(owner)) continue;
        const range = document.createRange();
        range.selectNodeContents(text);
        const at = range.getBoundingClientRect();
        if (!at.width || !at.height) continue;
        let across = true;
        let down = true;
        for (let e = owner; e && e !== document.documentElement && (across || down); e = e.parentElement) {
          const style = getComputedStyle(e);
          const box = e.getBoundingClientRect();
          const hides = (overflow) => overflow === 'hidden' || overflow === 'clip';
          const scrolls = (overflow) => overflow === 'auto' || overflow === 'scroll';
          if (scrolls(style.overflowX) || style.textOverflow === 'ellipsis') across = false;
          if (scrolls(style.overflowY) || (style.webkitLineClamp && style.webkitLineClamp !== 'none')) down = false;
          if (across && hides(style.overflowX) && (at.right > box.right + 1 || at.left < box.left - 1)) found.add(name(owner));
          if (down && hides(style.overflowY) && (at.bottom > box.bottom + 2 || at.top < box.top - 2)) found.add(name(owner));
          if (style.position === 'fixed' || e.matches(':modal, :popover-open')) break;
        }
        if (across && at.right > document.documentElement.clientWidth + 1 && at.left < document.documentElement.clientWidth) found.add(name(owner));
      }
    }
    return [...found];
  };

  /** How far the page can be scrolled sideways, and because of what. */
  const sideways = () => {
    const width = document.documentElement.clientWidth;
    if (document.scrollingElement.scrollWidth <= width) return [];
    const wide = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > width + 1 && e.checkVisibility());
    return [`the page is ${document.scrollingElement.scrollWidth} px wide, the window ${width}`, ...wide.slice(-5).map(name)];
  };

  /** What moves although reduced motion is asked for. */
  const moving = () =>
    document
      .getAnimations()
      .filter((a) => a.playState === 'running' && (a.effect?.getComputedTiming().duration ?? 0) > 0)
      .map((a) => name(a.effect.target));

  const deepest = (root, x, y) => {
    const e = root.elementFromPoint(x, y);
    return e?.shadowRoot && e.shadowRoot.elementFromPoint(x, y) !== e ? (deepest(e.shadowRoot, x, y) ?? e) : e;
  };

  /** What is wrong with the element that has the focus: no ring, not in the window, or covered. */
  const focusFaults = () => {
    let e = document.activeElement;
    while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
    if (!e || e === document.body) return [];
    const faults = [];
    const ring = (x) => {
      const style = getComputedStyle(x);
      return (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1) || style.boxShadow !== 'none';
    };
    let around = e;
    let shown = false;
    for (let i = 0; i < 6 && around; i++, around = around.parentElement ?? around.getRootNode().host) shown ||= ring(around);
    if (!shown) faults.push('has no visible focus');
    // A part of something large is enough.
    const whole = e.getBoundingClientRect();
    const [left, top] = [Math.max(0, whole.left), Math.max(0, whole.top)];
    const [width, height] = [Math.min(innerWidth, whole.right) - left, Math.min(innerHeight, whole.bottom) - top];
    const points = [[0.5, 0.5], [0.1, 0.5], [0.9, 0.5], [0.5, 0.2], [0.5, 0.8]].map(([x, y]) => [left + width * x, top + height * y]);
    if (width < 1 || height < 1) faults.push('is outside of the window');
    else if (!points.some(([x, y]) => { const hit = deepest(document, x, y); return hit && (e.contains(hit) || hit.contains(e) && !['DIALOG', 'BODY', 'HTML', 'MAIN'].includes(hit.tagName) || e.labels && [...e.labels].some((l) => l.contains(hit))); })) faults.push('is covered');
    return faults.map((fault) => `${name(e)} ${fault}`);
  };

  /** Resolves when the page has not changed its shape for some frames. */
  const settled = async () => {
    await document.fonts.ready;
    const shape = () => [document.scrollingElement.scrollHeight, document.querySelectorAll('*').length, document.body.innerText.length, document.querySelectorAll('[aria-busy=true]').length].join();
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 15)));
    for (let same = 0, last = '', frames = 0; same < 4 && frames < 200; frames++) {
      await frame();
      const now = shape();
      same = now === last ? same + 1 : 0;
      last = now;
    }
  };

  /** Violations of the WCAG 2.0-2.2 A and AA rules, in words. */
  const violations = async (only) => {
    const asked = only ? { type: 'rule', values: only } : { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] };
    const result = await axe.run(document, { runOnly: asked, resultTypes: ['violations'] });
    return result.violations.flatMap((v) => v.nodes.map((n) => `${v.id} (${v.impact}): ${n.target.join(' ')}\n  ${n.failureSummary.replaceAll('\n', '\n  ')}\n  ${n.html.slice(0, 200)}`));
  };

  return { clippedTexts, sideways, moving, focusFaults, settled, violations };
})()
