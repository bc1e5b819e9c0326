// TextEncoder, TextDecoder and Buffer.
(function (native) {
	'use strict';

	// bytesOf returns the bytes of an ArrayBuffer or of a view of one.
	const bytesOf = (v) => {
		if (v instanceof ArrayBuffer) return new Uint8Array(v);
		if (ArrayBuffer.isView(v)) return new Uint8Array(v.buffer, v.byteOffset, v.byteLength);
		throw new TypeError('an ArrayBuffer or a view of one is expected');
	};
	const exactly = (bytes) => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);

	class TextEncoder {
		get encoding() { return 'utf-8'; }
		encode(text = '') { return new Uint8Array(native.encodeText(String(text), 'utf-8')); }
		encodeInto(text, into) {
			let read = 0, written = 0;
			for (const character of String(text)) {
				const bytes = this.encode(character);
				if (written + bytes.length > into.length) break;
				into.set(bytes, written);
				read += character.length;
				written += bytes.length;
			}
			return {read, written};
		}
	}

	class TextDecoder {
		#encoding; #fatal; #ignoreBOM;

		constructor(label = 'utf-8', {fatal = false, ignoreBOM = false} = {}) {
			this.#encoding = native.encodingOf(String(label));
			if (!this.#encoding) throw new RangeError('the encoding ' + label + ' is not known here: there are utf-8, utf-16le and latin1');
			this.#fatal = Boolean(fatal);
			this.#ignoreBOM = Boolean(ignoreBOM);
		}
		get encoding() { return this.#encoding === 'latin1' ? 'windows-1252' : this.#encoding; }
		get fatal() { return this.#fatal; }
		get ignoreBOM() { return this.#ignoreBOM; }
		decode(input) {
			if (input === undefined) return '';
			const text = native.decodeText(exactly(bytesOf(input)), this.#encoding, this.#fatal);
			if (text === null) throw new TypeError('the bytes are not valid ' + this.#encoding);
			return !this.#ignoreBOM && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
		}
	}

	const encodings = ['utf8', 'utf-8', 'hex', 'base64', 'base64url', 'latin1', 'binary', 'ascii', 'utf16le', 'utf-16le', 'ucs2', 'ucs-2'];
	const encodingOf = (name) => {
		if (name === undefined || name === null) return 'utf8';
		const known = String(name).toLowerCase();
		if (!encodings.includes(known)) throw Object.assign(new TypeError('Unknown encoding: ' + name), {code: 'ERR_UNKNOWN_ENCODING'});
		return known;
	};

	class Buffer extends Uint8Array {
		static from(v, encoding, length) {
			if (typeof v === 'string') return new Buffer(native.encodeText(v, encodingOf(encoding)));
			if (v instanceof ArrayBuffer) return new Buffer(v, encoding, length);
			if (ArrayBuffer.isView(v)) return new Buffer(exactly(v instanceof Uint8Array ? v : Uint8Array.from(v)));
			if (v !== null && typeof v === 'object') {
				if (v.type === 'Buffer' && Array.isArray(v.data)) return Buffer.from(v.data);
				if (typeof v.length === 'number' || typeof v[Symbol.iterator] === 'function') return new Buffer(exactly(Uint8Array.from(v)));
			}
			throw new TypeError('Buffer.from takes a string, an array, a Buffer or an ArrayBuffer');
		}
		static alloc(size, fill, encoding) {
			const made = new Buffer(size);
			if (fill === undefined || fill === 0) return made;
			if (typeof fill !== 'string') return made.fill(fill);
			const bytes = Buffer.from(fill, encoding);
			for (let i = 0; i < size && bytes.length > 0; i++) made[i] = bytes[i % bytes.length];
			return made;
		}
		static allocUnsafe(size) { return new Buffer(size); }
		static concat(list, length) {
			const total = length === undefined ? list.reduce((n, b) => n + b.length, 0) : length;
			const made = new Buffer(total);
			let at = 0;
			for (const bytes of list) {
				if (at >= total) break;
				const part = bytes.subarray(0, total - at);
				made.set(part, at);
				at += part.length;
			}
			return made;
		}
		static byteLength(v, encoding) { return typeof v === 'string' ? Buffer.from(v, encoding).length : v.byteLength; }
		static isBuffer(v) { return v instanceof Buffer; }
		static isEncoding(name) { return typeof name === 'string' && encodings.includes(name.toLowerCase()); }
		static compare(a, b) { return a.compare(b); }

		toString(encoding, start = 0, end = this.length) {
			return native.decodeText(exactly(this.subarray(Math.max(0, start), Math.max(0, end))), encodingOf(encoding), false);
		}
		toJSON() { return {type: 'Buffer', data: Array.from(this)}; }
		slice(start, end) { return this.subarray(start, end); }
		equals(other) { return this.compare(other) === 0; }
		compare(other) {
			const n = Math.min(this.length, other.length);
			for (let i = 0; i < n; i++) {
				if (this[i] !== other[i]) return this[i] < other[i] ? -1 : 1;
			}
			return Math.sign(this.length - other.length);
		}
	}

	return {TextEncoder, TextDecoder, Buffer};
})
