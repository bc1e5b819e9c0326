// The script of live pages: it sends events and forms without loading the page again, and shows what the feed brings.
// Everything it adds to the page has data-js, so that patches leave it alone. Without it the page works as plain HTML.

const main = document.getElementById('svc-page') as HTMLElement
const toasts = document.getElementById('svc-toasts') as HTMLElement
const alerts = document.getElementById('svc-alerts') as HTMLElement
const base = toasts.dataset.base ?? ''
const socket = crypto.randomUUID()
const data = () => main.dataset

// Sending

interface Refusal {
  message?: string
  details?: { errors?: { field: string; message: string }[] }
}

async function emit(block: string, on: string, values: Record<string, unknown> = {}): Promise<boolean> {
  const response = await fetch(`${base}/_svc/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ view: data().view, block, on, values, socket }),
  })
  return response.ok
}

async function sendForm(form: HTMLFormElement, button?: HTMLElement | null): Promise<void> {
  const body = new FormData(form, button)
  body.set('svc:socket', socket)
  body.delete('svc:ask')
  const buttons = [...form.querySelectorAll<HTMLButtonElement>('button[type=submit]')].filter((b) => !b.disabled)
  buttons.forEach((b) => (b.disabled = true))
  form.setAttribute('aria-busy', 'true')
  showFaults(form, [])
  try {
    const response = await fetch(form.action, { method: 'POST', body, headers: { accept: 'application/json' } })
    if (!response.ok) {
      const refusal = (await response.json().catch(() => ({}))) as Refusal
      const faults = refusal.details?.errors ?? []
      showFaults(form, faults)
      if (faults.length === 0) toast({ type: 'error', content: refusal.message ?? response.statusText, duration: 8000 })
    }
  } catch {
    toast({ type: 'error', content: navigator.onLine ? 'The page could not reach its server.' : 'You are offline.', duration: 8000 })
  } finally {
    form.removeAttribute('aria-busy')
    const delay = Number(form.dataset.delay ?? 0)
    setTimeout(() => buttons.forEach((b) => (b.disabled = false)), delay)
  }
}

// showFaults shows what is wrong at the fields of a form, and goes to the first one.
function showFaults(form: HTMLFormElement, faults: { field: string; message: string }[]): void {
  form.querySelectorAll('.svc-fault').forEach((p) => p.remove())
  form.querySelectorAll<HTMLElement>('[aria-invalid]').forEach((field) => {
    field.removeAttribute('aria-invalid')
    describe(field, false)
  })
  let first: HTMLElement | undefined
  for (const fault of faults) {
    const field = form.elements.namedItem(fault.field) ?? form.elements.namedItem(fault.field + '[]')
    const input = field instanceof RadioNodeList ? (field[0] as HTMLElement) : (field as HTMLElement | null)
    if (!input) continue
    const note = document.createElement('p')
    note.className = 'svc-fault'
    note.id = (input.id || input.getAttribute('name')) + '-fault'
    note.textContent = fault.message
    const group = input.closest('.svc-field') ?? input
    group.append(note)
    input.setAttribute('aria-invalid', 'true')
    describe(input, true)
    first ??= input
  }
  first?.focus()
}

function describe(field: HTMLElement, faulty: boolean): void {
  const id = (field.id || field.getAttribute('name')) + '-fault'
  const ids = new Set((field.getAttribute('aria-describedby') ?? '').split(' ').filter(Boolean))
  if (faulty) ids.add(id)
  else ids.delete(id)
  if (ids.size) field.setAttribute('aria-describedby', [...ids].join(' '))
  else field.removeAttribute('aria-describedby')
}

// confirmed asks the question of an action.
function confirmed(form: HTMLFormElement): Promise<boolean> {
  const question = form.dataset.confirm
  if (!question) return Promise.resolve(true)
  return new Promise((resolve) => {
    const dialog = document.createElement('dialog')
    dialog.dataset.js = ''
    dialog.className = 'svc-confirm'
    const text = document.createElement('p')
    text.textContent = question
    const row = document.createElement('div')
    row.className = 'svc-buttons'
    for (const [label, answer] of [[form.dataset.no ?? 'No', 'no'], [form.dataset.yes ?? 'Yes', 'yes']] as const) {
      const button = document.createElement('button')
      button.type = 'button'
      button.className = answer === 'yes' ? 'svc-btn svc-btn-primary' : 'svc-btn svc-btn-secondary'
      button.textContent = label
      button.onclick = () => dialog.close(answer)
      row.append(button)
    }
    dialog.setAttribute('aria-label', question)
    dialog.append(text, row)
    dialog.onclose = () => {
      dialog.remove()
      resolve(dialog.returnValue === 'yes')
    }
    document.body.append(dialog)
    dialog.showModal()
  })
}

document.addEventListener('submit', (event) => {
  const form = event.target as HTMLFormElement
  if (!form.matches('.svc-event, .svc-form-fields')) return
  event.preventDefault()
  if (form.matches('.svc-form-fields') && !form.checkValidity()) {
    form.reportValidity()
    return
  }
  const button = (event as SubmitEvent).submitter
  void confirmed(form).then((yes) => (yes ? sendForm(form, button) : undefined))
})

const waiting = new WeakMap<HTMLFormElement, number>()
document.addEventListener('input', (event) => {
  const form = (event.target as HTMLElement).closest<HTMLFormElement>('form[data-change]')
  if (!form) return
  clearTimeout(waiting.get(form))
  waiting.set(form, window.setTimeout(() => {
    const body = new FormData(form)
    body.set('svc:socket', socket)
    body.set('svc:on', form.dataset.change ?? 'onChange')
    for (const [name, value] of [...body]) if (value instanceof File) body.delete(name)
    void fetch(form.action, { method: 'POST', body, headers: { accept: 'application/json' } }).catch(() => undefined)
  }, 300))
})

document.addEventListener('change', (event) => {
  const input = event.target as HTMLInputElement
  const form = input.form
  if (input.type === 'file' && form?.matches('.svc-upload')) form.requestSubmit()
})

document.addEventListener('click', (event) => {
  const target = event.target as HTMLElement
  const script = target.closest<HTMLElement>('[data-script]')
  if (script) {
    const element = document.createElement('script')
    element.textContent = script.dataset.script ?? ''
    document.body.append(element)
    element.remove()
  }
  const summary = target.closest<HTMLElement>('[data-modal] > details > summary')
  if (summary) {
    event.preventDefault()
    openModal(summary.closest<HTMLElement>('[data-modal]')!)
  }
  document.querySelectorAll<HTMLDetailsElement>('.svc-menu[open]').forEach((menu) => {
    if (!menu.contains(target)) menu.open = false
  })
})

// Dialogs and tabs

function openModal(modal: HTMLElement): void {
  const details = modal.querySelector('details')!
  const dialog = modal.querySelector('dialog')!
  details.open = true
  if (dialog.matches(':modal')) return
  dialog.removeAttribute('open')
  if (!dialog.querySelector(':scope > [data-js]')) {
    const close = document.createElement('button')
    close.type = 'button'
    close.dataset.js = ''
    close.className = 'svc-close'
    close.setAttribute('aria-label', dialog.dataset.closeLabel ?? 'Close')
    close.textContent = '×'
    close.onclick = () => dialog.close()
    dialog.prepend(close)
  }
  dialog.onclose = () => {
    details.open = false
    if (modal.dataset.close) void emit(modal.dataset.block ?? '', modal.dataset.close)
  }
  dialog.showModal()
}

function closeModal(modal: HTMLElement): void {
  modal.querySelector('dialog')?.close()
}

function enhanceTabs(root: HTMLElement): void {
  const sections = [...root.querySelectorAll<HTMLElement>(':scope > .svc-tab')]
  if (sections.length === 0) return
  let list = root.querySelector<HTMLElement>(':scope > [role=tablist]')
  if (!list) {
    list = document.createElement('div')
    list.dataset.js = ''
    list.setAttribute('role', 'tablist')
    root.prepend(list)
    list.addEventListener('keydown', (event) => {
      const tabs = [...list!.querySelectorAll<HTMLElement>('[role=tab]')]
      const now = tabs.indexOf(document.activeElement as HTMLElement)
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
      const next = event.key === 'Home' ? 0 : event.key === 'End' ? tabs.length - 1 : step ? (now + step + tabs.length) % tabs.length : -1
      if (next < 0) return
      event.preventDefault()
      select(next, true)
      tabs[next]?.focus()
    })
  }
  if (root.hasAttribute('data-vertical')) list.setAttribute('aria-orientation', 'vertical')
  const path = root.dataset.block ?? ''
  const select = (index: number, told: boolean): void => {
    const tabs = [...root.querySelectorAll<HTMLElement>(':scope > [role=tablist] > [role=tab]')]
    tabs.forEach((tab, i) => {
      tab.setAttribute('aria-selected', String(i === index))
      tab.tabIndex = i === index ? 0 : -1
    })
    sections.forEach((section, i) => (section.hidden = i !== index))
    const before = root.dataset.shown
    root.dataset.shown = String(index)
    if (told && before !== String(index) && root.dataset.change) void emit(path, root.dataset.change, { selected: index })
  }
  const tabs = sections.map((section, i) => {
    const id = `tab-${path.replace(/[^\w]/g, '-')}-${i}`
    section.setAttribute('role', 'tabpanel')
    section.setAttribute('aria-labelledby', id)
    const tab = document.createElement('button')
    tab.type = 'button'
    tab.id = id
    tab.setAttribute('role', 'tab')
    tab.textContent = section.querySelector(':scope > .svc-tab-title')?.textContent ?? String(i + 1)
    tab.onclick = () => select(i, true)
    return tab
  })
  const focused = [...list.children].indexOf(document.activeElement as Element)
  list.replaceChildren(...tabs)
  select(Math.min(Number(root.dataset.shown ?? root.dataset.selected ?? 0), sections.length - 1), false)
  if (focused >= 0) tabs[Math.min(focused, tabs.length - 1)]?.focus()
}

function enhance(root: ParentNode): void {
  root.querySelectorAll<HTMLElement>('[data-tabs]').forEach(enhanceTabs)
  if (root instanceof HTMLElement && root.matches('[data-tabs]')) enhanceTabs(root)
  root.querySelectorAll<HTMLElement>('[data-modal] > details[open]').forEach((d) => openModal(d.parentElement as HTMLElement))
}

// Toasts

interface Toast {
  type?: string
  content?: string
  duration?: number
  key?: string
  closed?: boolean
}

function toast(t: Toast): void {
  const old = t.key ? document.querySelector(`.svc-toast[data-key="${CSS.escape(t.key)}"]`) : null
  old?.remove()
  if (t.closed) return
  const element = document.createElement('div')
  element.className = `svc-toast svc-toast-${t.type ?? 'info'}`
  if (t.key) element.dataset.key = t.key
  const text = document.createElement('p')
  text.textContent = t.content ?? ''
  const close = document.createElement('button')
  close.type = 'button'
  close.className = 'svc-close'
  close.setAttribute('aria-label', toasts.dataset.close ?? 'Close')
  close.textContent = '×'
  close.onclick = () => element.remove()
  element.append(text, close)
  ;(t.type === 'error' ? alerts : toasts).append(element)
  setTimeout(() => element.remove(), t.duration ?? 5000)
}

// Patches: the new HTML is put over the old elements, which stay with their focus, caret, scroll and input.

const keptAttributes = new Set(['open', 'data-shown'])

function morph(old: Element, next: Element): void {
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && !(keptAttributes.has(name) && /^(DETAILS|DIALOG|DIV)$/.test(old.tagName))) old.removeAttribute(name)
  }
  for (const { name, value } of [...next.attributes]) {
    if (keptAttributes.has(name) && /^(DETAILS|DIALOG)$/.test(old.tagName)) continue
    if (old.getAttribute(name) !== value) old.setAttribute(name, value)
  }
  if (old instanceof HTMLTextAreaElement) {
    if (old.value === old.defaultValue && old !== document.activeElement) old.value = next.textContent ?? ''
    old.defaultValue = next.textContent ?? ''
    return
  }
  if (old instanceof HTMLSelectElement && [...old.options].some((o) => o.selected !== o.defaultSelected)) return
  morphChildren(old, next)
}

const keyOf = (node: Node): string => {
  if (!(node instanceof Element)) return `#${node.nodeType}`
  return `${node.tagName} ${node.getAttribute('data-block') ?? node.id} ${node.getAttribute('name') ?? ''}`
}

function morphChildren(old: Element, next: Element): void {
  const present = [...old.childNodes].filter((n) => !(n instanceof HTMLElement && (n.hasAttribute('data-js') || n.classList.contains('svc-fault'))))
  let position: Node | null = old.firstChild
  const skip = (): void => {
    while (position instanceof HTMLElement && (position.hasAttribute('data-js') || position.classList.contains('svc-fault'))) position = position.nextSibling
  }
  for (const child of [...next.childNodes]) {
    skip()
    const index = present.findIndex((n) => keyOf(n) === keyOf(child))
    const match = index >= 0 ? present.splice(index, 1)[0] : undefined
    if (!match) {
      old.insertBefore(child, position)
      continue
    }
    if (match === position) position = position.nextSibling
    else old.insertBefore(match, position)
    if (match instanceof Element) morph(match, child as Element)
    else if (match.nodeValue !== child.nodeValue) match.nodeValue = child.nodeValue
  }
  present.forEach((n) => n.parentNode?.removeChild(n))
}

function patch(block: string, html: string): void {
  const template = document.createElement('template')
  template.innerHTML = html
  const next = template.content.firstElementChild
  const old = block === '' ? main : main.querySelector(`[data-block="${CSS.escape(block)}"]`)
  if (!next || !old) return
  if (old.tagName !== next.tagName) {
    old.replaceWith(next)
    enhance(next)
    return
  }
  const { seq, view } = main.dataset
  morph(old, next)
  if (block === '') Object.assign(main.dataset, { ...(seq ? { seq } : {}), ...(view ? { view } : {}) })
  enhance(old)
}

// The feed

interface Redirect {
  url: string
  locale?: string
  method?: string
  body?: Record<string, unknown>
  push?: boolean
}

function redirect(r: Redirect): void {
  if (r.method === 'POST') {
    const form = document.createElement('form')
    form.method = 'post'
    form.action = r.url
    for (const [name, value] of Object.entries(r.body ?? {})) {
      const input = document.createElement('input')
      input.type = 'hidden'
      input.name = name
      input.value = typeof value === 'string' ? value : JSON.stringify(value)
      form.append(input)
    }
    document.body.append(form)
    form.submit()
    return
  }
  let url = r.url
  if (r.locale && url.startsWith('/')) url = `${base}/${r.locale}${url.startsWith(base + '/') ? url.slice(base.length) : url}`
  if (r.push) location.assign(url)
  else location.replace(url)
}

async function reload(): Promise<void> {
  const response = await fetch(location.href, { headers: { accept: 'text/html' } })
  const text = await response.text()
  const next = new DOMParser().parseFromString(text, 'text/html').getElementById('svc-page')
  if (!next) return
  morph(main, next)
  enhance(main)
  follow()
}

function notify(n: { title: string; body: string; icon: string }): void {
  if ('Notification' in window && Notification.permission === 'granted') {
    new Notification(n.title, { body: n.body, ...(n.icon ? { icon: n.icon } : {}) })
  } else {
    toast({ type: 'info', content: [n.title, n.body].filter(Boolean).join(': ') })
  }
}

let source: EventSource | undefined
let begun = false

function follow(): void {
  source?.close()
  const { view, seq } = data()
  if (!view || main.dataset.live === undefined) return
  const query = new URLSearchParams({ view, socket })
  if (seq) query.set('fromSeq', seq)
  source = new EventSource(`${base}/_svc/feed?${query}`)
  const on = (name: string, take: (frame: never) => void): void =>
    source!.addEventListener(name, (event) => {
      take(JSON.parse((event as MessageEvent<string>).data) as never)
      if ((event as MessageEvent).lastEventId) main.dataset.seq = (event as MessageEvent).lastEventId
    })
  on('patch', (f: { block: string; html: string }) => patch(f.block, f.html))
  on('toast', toast)
  on('notify', notify)
  on('open', (f: { block: string }) => modalAt(f.block, openModal))
  on('close', (f: { block: string }) => modalAt(f.block, closeModal))
  on('redirect', redirect)
  on('reload', () => {
    source?.close()
    void reload()
  })
  source.onopen = () => {
    main.dataset.connected = ''
    if (begun) return
    begun = true
    for (const block of (data().init ?? '').split(' ').filter(Boolean)) {
      void emit(block === 'page' ? '' : block, 'onInit', location.hash ? { hash: location.hash } : {})
    }
  }
  source.onerror = () => {
    delete main.dataset.connected
    if (source?.readyState === EventSource.CLOSED) setTimeout(follow, 5000)
  }
}

function modalAt(block: string, act: (modal: HTMLElement) => void): void {
  const modal = main.querySelector<HTMLElement>(`[data-block="${CSS.escape(block)}"]`)
  if (modal) act(modal)
}

document.documentElement.classList.add('svc-js')
enhance(main)
document.querySelector<HTMLElement>('[data-focus]')?.focus()
follow()
addEventListener('pagehide', () => source?.close())
addEventListener('pageshow', (event) => {
  if ((event as PageTransitionEvent).persisted) follow()
})
