// URL and URLSearchParams.
(function (native) {
	'use strict';
	const iterate = Symbol.iterator;
	let link, reset; // of parameters to the URL that they belong to

	class URLSearchParams {
		#pairs = [];
		#changed = null; // told after each change

		constructor(init) {
			if (init === undefined || init === null) return;
			if (typeof init === 'object' || typeof init === 'function') {
				if (typeof init[iterate] === 'function') {
					for (const pair of init) {
						const [name, value, ...rest] = pair;
						if (rest.length > 0 || value === undefined) throw new TypeError('each pair has a name and a value');
						this.#pairs.push([String(name), String(value)]);
					}
				} else {
					for (const name of Object.keys(init)) this.#pairs.push([name, String(init[name])]);
				}
				return;
			}
			this.#pairs = native.parseQuery(String(init).replace(/^\?/, ''));
		}

		static {
			link = (params, changed) => { params.#changed = changed; return params; };
			reset = (params, text) => { params.#pairs = native.parseQuery(text); };
		}

		#tell() { if (this.#changed) this.#changed(this.toString()); }

		get size() { return this.#pairs.length; }
		append(name, value) { this.#pairs.push([String(name), String(value)]); this.#tell(); }
		delete(name, value) {
			name = String(name);
			this.#pairs = this.#pairs.filter(([n, v]) => n !== name || value !== undefined && v !== String(value));
			this.#tell();
		}
		get(name) { const found = this.#pairs.find(([n]) => n === String(name)); return found ? found[1] : null; }
		getAll(name) { return this.#pairs.filter(([n]) => n === String(name)).map(([, v]) => v); }
		has(name, value) { return this.#pairs.some(([n, v]) => n === String(name) && (value === undefined || v === String(value))); }
		set(name, value) {
			name = String(name);
			const at = this.#pairs.findIndex(([n]) => n === name);
			if (at < 0) {
				this.#pairs.push([name, String(value)]);
			} else {
				this.#pairs[at] = [name, String(value)];
				this.#pairs = this.#pairs.filter(([n], i) => n !== name || i <= at);
			}
			this.#tell();
		}
		sort() { this.#pairs.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0); this.#tell(); }
		forEach(visit, self) { for (const [name, value] of this.#pairs) visit.call(self, value, name, this); }
		*entries() { for (const [name, value] of this.#pairs) yield [name, value]; }
		*keys() { for (const [name] of this.#pairs) yield name; }
		*values() { for (const [, value] of this.#pairs) yield value; }
		[iterate]() { return this.entries(); }
		toString() { return native.writeQuery(this.#pairs); }
		get [Symbol.toStringTag]() { return 'URLSearchParams'; }
	}

	class URL {
		#parts;
		#params = null;

		constructor(url, base) {
			if (arguments.length === 0) throw new TypeError('a URL is expected');
			this.#parts = native.parseURL(String(url), base === undefined ? undefined : String(base));
			if (!this.#parts) throw Object.assign(new TypeError('Invalid URL'), {code: 'ERR_INVALID_URL', input: String(url)});
		}
		static canParse(url, base) { return native.parseURL(String(url), base === undefined ? undefined : String(base)) !== null; }
		static parse(url, base) { return URL.canParse(url, base) ? new URL(url, base) : null; }

		// A change that makes no URL is ignored, as browsers do.
		#change(change) {
			const next = native.parseURL(native.writeURL(Object.assign({}, this.#parts, change)));
			if (next) {
				this.#parts = next;
				if (this.#params) reset(this.#params, next.search.slice(1));
			}
		}
		get href() { return this.#parts.href; }
		set href(v) {
			const next = native.parseURL(String(v));
			if (!next) throw new TypeError('Invalid URL');
			this.#parts = next;
			if (this.#params) reset(this.#params, next.search.slice(1));
		}
		get origin() { return this.#parts.origin; }
		get protocol() { return this.#parts.protocol; }
		set protocol(v) { this.#change({protocol: String(v).replace(/:.*$/s, '') + ':'}); }
		get username() { return this.#parts.username; }
		set username(v) { this.#change({username: encodeURIComponent(v)}); }
		get password() { return this.#parts.password; }
		set password(v) { this.#change({password: encodeURIComponent(v)}); }
		get host() { return this.#parts.hostname + (this.#parts.port && ':' + this.#parts.port); }
		set host(v) {
			const [, hostname, port] = /^(\[.*\]|[^:/?#]*)(?::(\d*))?/.exec(String(v));
			this.#change(port === undefined ? {hostname} : {hostname, port});
		}
		get hostname() { return this.#parts.hostname; }
		set hostname(v) { this.#change({hostname: /^(\[.*\]|[^:/?#]*)/.exec(String(v))[0]}); }
		get port() { return this.#parts.port; }
		set port(v) { this.#change({port: /^\d*/.exec(String(v))[0]}); }
		get pathname() { return this.#parts.pathname; }
		set pathname(v) { this.#change({pathname: String(v).replace(/[?#]/g, encodeURIComponent)}); }
		get search() { return this.#parts.search; }
		set search(v) { v = String(v).replace(/^\?/, '').replace(/#/g, '%23'); this.#change({search: v && '?' + v}); }
		get hash() { return this.#parts.hash; }
		set hash(v) { v = String(v).replace(/^#/, ''); this.#change({hash: v && '#' + v}); }
		get searchParams() {
			if (!this.#params) {
				this.#params = link(new URLSearchParams(this.#parts.search), (text) => {
					const next = native.parseURL(native.writeURL(Object.assign({}, this.#parts, {search: text && '?' + text})));
					if (next) this.#parts = next;
				});
			}
			return this.#params;
		}
		toString() { return this.href; }
		toJSON() { return this.href; }
		get [Symbol.toStringTag]() { return 'URL'; }
	}

	return {URL, URLSearchParams};
})
