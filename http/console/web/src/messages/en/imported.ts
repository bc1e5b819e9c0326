import { plural } from '../../lib/i18n.svelte.ts';

const of = (n: number, one: string, other: string): string => plural('en', n, { one: `1 ${one}`, other: `${n} ${other}` });
const word = (one: string, other: string) => (n: number): string => plural('en', n, { one, other });

/* What an import would do, or did. */
export default {
  import: 'Import',
  importing: 'Importing…',
  sending: (size: string) => `Sending ${size}`,
  checking: 'Checking what the archive brings',
  tooLarge: (size: string, limit: string) => `The archive has ${size}. At most ${limit} can be imported here.`,
  planFirst: 'The archive is checked first.',
  willImport: 'This will be imported',
  wasImported: 'This was imported',
  willDelete: (n: number) => `${of(n, 'document', 'documents')} will be deleted:`,
  wasDeleted: (n: number) => `${of(n, 'document was', 'documents were')} deleted:`,
  nothingToImport: 'Nothing in this archive can be imported.',
  allDocuments: (n: number) => `Show ${of(n, 'document', 'documents')}`,
  faults: (n: number) => of(n, 'error', 'errors'),
  warnings: (n: number) => of(n, 'warning', 'warnings'),
  faultsText: 'Files with an error are left out. Everything else can be imported.',
  faultsLeft: 'These files were left out.',
  noFaults: 'No file has an error.',
  archive: 'The archive',
  title: (file: string) => `Import ${file}`,
  restoreText: 'The content becomes what it was then, as a new change. Nothing is erased: what is here now stays in the history. Slug, custom domains and repositories stay as they are.',
  willChange: 'These documents change',
  now: 'Now',
  then: 'After restoring',
  restoreFirst: 'What it would change is looked up first.',
  restoreCount: (n: number) => `Restore ${of(n, 'document', 'documents')}`,
  nothingToRestore: 'Nothing differs from what is here now.',
  restored: 'The earlier content is restored',
  kinds: {
    automations: word('automation', 'automations'),
    pages: word('page', 'pages'),
    imports: word('app', 'apps'),
    files: word('file', 'files'),
    index: word('description of the workspace', 'descriptions of workspaces'),
    security: word('set of rules', 'sets of rules'),
    other: word('other document', 'other documents'),
  },
};
