/*
 * Unsaved text in IndexedDB: it survives reload, crash, an ended session and a new build. One
 * draft per user and document, with the ETag it began from; 14 days; all gone at sign-out.
 * Never put fields marked secret into one.
 */
export interface Draft {
  /** `${user}|${document}` */
  id: string;
  user: string;
  /** For example `p7MSR49/automations/charge`. */
  document: string;
  text: string;
  /** ETag of the stored document that the text began from; empty for a new one. */
  etag: string;
  /** The stored text that it began from, for a comparison of three. */
  base?: string;
  at: number;
}

const lifetime = 14 * 24 * 3600 * 1000;
let opened: Promise<IDBDatabase> | undefined;

function database(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open('svc-console', 1);
    request.onupgradeneeded = () => request.result.createObjectStore('drafts', { keyPath: 'id' }).createIndex('user', 'user');
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  opened.catch(() => (opened = undefined));
  return opened;
}

async function run<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const db = await database();
  return new Promise((resolve, reject) => {
    const transaction = db.transaction('drafts', mode);
    const request = work(transaction.objectStore('drafts'));
    transaction.oncomplete = () => resolve(request.result);
    transaction.onerror = transaction.onabort = () => reject(transaction.error);
  });
}

const idOf = (user: string, document: string): string => `${user}|${document}`;

export async function saveDraft(user: string, document: string, text: string, etag: string, base?: string): Promise<void> {
  await run('readwrite', (store) => store.put({ id: idOf(user, document), user, document, text, etag, base, at: Date.now() } satisfies Draft));
}

export async function readDraft(user: string, document: string): Promise<Draft | undefined> {
  const draft = await run<Draft | undefined>('readonly', (store) => store.get(idOf(user, document)));
  return draft && draft.at > Date.now() - lifetime ? draft : undefined;
}

export async function dropDraft(user: string, document: string): Promise<void> {
  await run('readwrite', (store) => store.delete(idOf(user, document)));
}

/** All drafts of a user whose document begins with a prefix, such as `p7MSR49/`. */
export async function listDrafts(user: string, prefix = ''): Promise<Draft[]> {
  const drafts = await run<Draft[]>('readonly', (store) => store.index('user').getAll(user));
  return drafts.filter((draft) => draft.document.startsWith(prefix) && draft.at > Date.now() - lifetime);
}

/** At sign-out: nothing of the user stays in this browser. */
export async function clearDrafts(user: string): Promise<void> {
  for (const draft of await run<Draft[]>('readonly', (store) => store.index('user').getAll(user))) {
    await run('readwrite', (store) => store.delete(draft.id));
  }
}

/** At start: what is older than 14 days goes. */
export async function expireDrafts(): Promise<void> {
  for (const draft of await run<Draft[]>('readonly', (store) => store.getAll())) {
    if (draft.at <= Date.now() - lifetime) await run('readwrite', (store) => store.delete(draft.id));
  }
}
