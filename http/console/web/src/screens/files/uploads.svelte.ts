import { asApiError, upload, type ApiError } from '../../lib/api/client.ts';
import { uploadMax, uploadTypes } from '../../lib/page.ts';
import { isTaken } from './files.ts';

/** What goes with a file: fields of the form; `isAnyType`: the place takes files of all types. */
export interface UploadOptions {
  fields?: Record<string, string>;
  isAnyType?: boolean;
}

/** One file on its way. */
export class Upload {
  sent = $state(0);
  state = $state<'waiting' | 'sending' | 'done' | 'too_large' | 'wrong_type' | 'failed' | 'cancelled'>('waiting');
  error = $state.raw<ApiError | undefined>(undefined);
  private readonly abort = new AbortController();

  constructor(
    readonly id: number,
    readonly file: File,
    private readonly options: UploadOptions = {},
  ) {
    if (file.size > uploadMax) this.state = 'too_large';
    else if (!options.isAnyType && !isTaken(file.type, uploadTypes)) this.state = 'wrong_type';
  }

  cancel(): void {
    if (this.state === 'waiting') this.state = 'cancelled';
    this.abort.abort();
  }

  async run(url: string, method: 'POST' | 'PUT'): Promise<void> {
    if (this.state !== 'waiting') return;
    this.state = 'sending';
    const form = new FormData();
    for (const [name, value] of Object.entries(this.options.fields ?? {})) form.set(name, value);
    form.set('file', this.file);
    try {
      await upload(url, form, { method, signal: this.abort.signal, onProgress: (sent, total) => (this.sent = Math.round((sent / total) * this.file.size)) });
      this.state = 'done';
    } catch (error) {
      const refusal = asApiError(error);
      this.error = refusal;
      this.state = refusal.code === 'aborted' ? 'cancelled' : 'failed';
    }
  }
}

/** Files that are sent one after the other; each can be cancelled. What is too large or of a type that is not taken is not sent. */
export class Uploads {
  list = $state<Upload[]>([]);
  private next = 0;
  private running = false;

  /** `ondone`: one of them is stored. */
  constructor(private readonly ondone: () => void) {}

  /** `url`: where files are posted to. */
  add(files: File[], url: string, options: UploadOptions = {}): void {
    this.list = [...this.list, ...files.map((file) => new Upload(this.next++, file, options))];
    void this.run(url);
  }

  remove(one: Upload): void {
    this.list = this.list.filter((other) => other !== one);
  }

  /** Sends those that wait, and takes those that are stored out of the list. */
  private async run(url: string): Promise<void> {
    if (this.running) return;
    this.running = true;
    for (let one = this.waiting(); one; one = this.waiting()) {
      await one.run(url, 'POST');
      if (one.state === 'done') {
        this.remove(one);
        this.ondone();
      }
    }
    this.running = false;
  }

  private waiting(): Upload | undefined {
    return this.list.find((one) => one.state === 'waiting');
  }
}
