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
  details?: { resource?: string; errors?: { field: string; message: string }[] }
}

async function emit(block: string, on: string, values: Record<string, unknown> = {}): Promise<boolean> {
  const response = await fetch(`${base}/_svc/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ view: data().view, block, on, values, socket }),
  })
  return response.ok
}

const busy = new WeakSet<HTMLFormElement>()

// postForm posts a form as it is now, and returns why it is refused.
async function postForm(form: HTMLFormElement, button?: HTMLElement | null): Promise<Refusal | undefined> {
  const body = new FormData(form, button)
  body.set('svc:socket', socket)
  body.delete('svc:ask')
  const response = await fetch(form.action, { method: 'POST', body: encoded(form, body), headers: { accept: 'application/json' } })
  return response.ok ? undefined : ((await response.json().catch(() => ({ message: response.statusText }))) as Refusal)
}

// encoded is the body of a form, as the browser sends it without the script.
const encoded = (form: HTMLFormElement, body: FormData): FormData | URLSearchParams =>
  form.enctype === 'multipart/form-data' ? body : new URLSearchParams([...body].map(([name, value]) => [name, String(value)]))

// sendForm sends a form, once at a time. Its submit buttons are disabled meanwhile, and give the focus back.
async function sendForm(form: HTMLFormElement, button?: HTMLElement | null): Promise<void> {
  if (busy.has(form)) return
  busy.add(form)
  const buttons = form.matches('.svc-form-fields') ? [...form.querySelectorAll<HTMLButtonElement>('button[type=submit]:enabled')] : []
  const focused = buttons.find((b) => b === document.activeElement)
  form.setAttribute('aria-busy', 'true')
  showFaults(form, [])
  try {
    const sending = postForm(form, button)
    buttons.forEach((b) => (b.disabled = true))
    let refusal = await sending
    if (refusal?.details?.resource === 'view' && (await reload())) refusal = await postForm(form, button)
    if (refusal) {
      const faults = refusal.details?.errors ?? []
      showFaults(form, faults)
      if (faults.length === 0) toast({ type: 'error', content: refusal.message, duration: 8000 })
    }
  } catch {
    toast({ type: 'error', content: toasts.dataset.offline, duration: 8000 })
  } finally {
    form.removeAttribute('aria-busy')
    setTimeout(() => {
      busy.delete(form)
      buttons.forEach((b) => (b.disabled = false))
      if (document.activeElement === document.body) focused?.focus()
    }, Number(form.dataset.delay ?? 0))
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
    void fetch(form.action, { method: 'POST', body: encoded(form, body), headers: { accept: 'application/json' } }).catch(() => undefined)
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
  void dialog.offsetHeight // what was just opened takes no focus before it is laid out
  dialog.querySelector<HTMLElement>('[autofocus], input:not([type=hidden]), select, textarea, .svc-close')?.focus()
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
  root.querySelectorAll('[data-modal] > details > summary').forEach((summary) => {
    summary.setAttribute('role', 'button')
    summary.setAttribute('aria-haspopup', 'dialog')
  })
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
  const old = t.key ? document.querySelector(`.svc-message[data-key="${CSS.escape(t.key)}"]`) : null
  old?.remove()
  if (t.closed) return
  const element = document.createElement('div')
  element.className = `svc-message svc-message-${t.type ?? 'info'}`
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
  const expire = (): void => {
    if (element.matches(':hover, :focus-within')) setTimeout(expire, 1000) // it is being read
    else element.remove()
  }
  setTimeout(expire, t.duration ?? 5000)
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
  return `${node.tagName} ${node.getAttribute('data-block') ?? node.getAttribute('data-key') ?? node.id} ${node.getAttribute('name') ?? ''}`
}

// isOurs reports whether the script has put a node into the page.
const isOurs = (node: Node | null): node is HTMLElement => node instanceof HTMLElement && (node.hasAttribute('data-js') || node.classList.contains('svc-fault'))

function morphChildren(old: Element, next: Element): void {
  const present = [...old.childNodes].filter((n) => !isOurs(n))
  let position: Node | null = old.firstChild
  const skip = (): void => {
    while (isOurs(position)) position = position.nextSibling
  }
  for (const child of [...next.childNodes]) {
    skip()
    const key = keyOf(child)
    const index = present.findIndex((n) => keyOf(n) === key)
    const match = index >= 0 ? present.splice(index, 1)[0] : undefined
    if (!match) {
      old.insertBefore(child, position)
      continue
    }
    // An element that is moved loses the focus: what is in front of it is moved behind it instead.
    while (match !== position && position && match.contains(document.activeElement)) {
      const before: Node = position
      position = before.nextSibling
      if (!isOurs(before)) old.append(before)
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
  const { seq, view, connected } = main.dataset
  morph(old, next)
  if (block === '') for (const [name, text] of Object.entries({ seq, view, connected })) if (text !== undefined) main.dataset[name] = text
  enhance(old)
}

// loadStyles loads the style sheets that the page does not have yet: what they are for is shown when they are there.
async function loadStyles(sheets: string[] = []): Promise<void> {
  const missing = sheets.filter((href) => !document.querySelector(`link[href="${CSS.escape(href)}"]`))
  const loading = missing.map((href) => new Promise<void>((resolve) => {
    const link = document.createElement('link')
    link.rel = 'stylesheet'
    link.href = href
    link.onload = link.onerror = () => resolve()
    setTimeout(resolve, 2000) // better without its style than not at all
    document.head.append(link)
  }))
  await Promise.all(loading)
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

// reload gets a new view of the page, and keeps what was typed. It reports whether there is one.
async function reload(): Promise<boolean> {
  source?.close()
  const response = await fetch(location.href, { headers: { accept: 'text/html' } }).catch(() => undefined)
  const page = response?.ok ? new DOMParser().parseFromString(await response.text(), 'text/html') : undefined
  const next = page?.getElementById('svc-page')
  if (!page || !next) {
    retry()
    return false
  }
  await loadStyles([...page.querySelectorAll('link[rel=stylesheet]')].map((sheet) => sheet.getAttribute('href') ?? ''))
  morph(main, next)
  enhance(main)
  begun = false
  follow()
  return true
}

function notify(n: { title: string; body: string; icon: string }): void {
  if ('Notification' in window && Notification.permission === 'granted') {
    new Notification(n.title, { body: n.body, ...(n.icon ? { icon: n.icon } : {}) })
  } else {
    toast({ type: 'info', content: [n.title, n.body].filter(Boolean).join(': ') })
  }
}

let source: EventSource | undefined
let begun = false // onInit was sent for this view
let failures = 0 // of the feed, one after the other
let waitingToRetry = 0

// retry opens the feed again after a while. When that does not help, the view may be another session's by now.
function retry(): void {
  failures++
  clearTimeout(waitingToRetry)
  waitingToRetry = window.setTimeout(() => void (failures > 2 ? reload() : follow()), Math.min(60_000, 500 * 2 ** failures) * (0.5 + Math.random() / 2))
}

function follow(): void {
  source?.close()
  const { view, seq } = data()
  if (!view || main.dataset.live === undefined) return
  const query = new URLSearchParams({ view, socket })
  if (seq) query.set('fromSeq', seq)
  const feed = (source = new EventSource(`${base}/_svc/feed?${query}`))
  let applied = Promise.resolve() // frames are applied one after the other
  const on = (name: string, take: (frame: never) => void): void =>
    feed.addEventListener(name, (event) => {
      if (!(event instanceof MessageEvent)) return // that the feed is open is called open as well
      const frame = JSON.parse(event.data as string) as { styles?: string[] }
      applied = applied
        .then(() => loadStyles(frame.styles))
        .then(() => {
          if (source !== feed) return // the page has another view by now
          take(frame as never)
          if (event.lastEventId) main.dataset.seq = event.lastEventId
        })
        .catch(reportError)
    })
  on('patch', (f: { block: string; html: string }) => patch(f.block, f.html))
  on('toast', toast)
  on('notify', notify)
  on('open', (f: { block: string }) => modalAt(f.block, openModal))
  on('close', (f: { block: string }) => modalAt(f.block, closeModal))
  on('redirect', redirect)
  on('reload', () => void reload())
  source.onopen = (event) => {
    if (event instanceof MessageEvent) return
    failures = 0
    main.dataset.connected = ''
    if (begun) return
    begun = true
    for (const block of (data().init ?? '').split(' ').filter(Boolean)) {
      void emit(block === 'page' ? '' : block, 'onInit', location.hash ? { hash: location.hash } : {})
    }
  }
  source.onerror = () => {
    delete main.dataset.connected
    if (source?.readyState === EventSource.CLOSED) retry()
  }
}

function modalAt(block: string, act: (modal: HTMLElement) => void): void {
  const modal = main.querySelector<HTMLElement>(`[data-block="${CSS.escape(block)}"]`)
  if (modal) act(modal)
}

document.documentElement.classList.add('svc-js')
enhance(main)
follow()
addEventListener('pagehide', () => source?.close())
addEventListener('pageshow', (event) => {
  if ((event as PageTransitionEvent).persisted) follow()
})
