// structuredClone.
(function () {
	'use strict';
	const views = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
	const errors = {Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError};

	const refuse = (v) => {
		throw Object.assign(new Error(typeof v === 'symbol' ? 'a symbol could not be cloned' : String(v).slice(0, 100) + ' could not be cloned'), {name: 'DataCloneError', code: 25});
	};

	function structuredClone(given) {
		const known = new Map();
		const keep = (v, made) => { known.set(v, made); return made; };
		const clone = (v) => {
			if (typeof v === 'function' || typeof v === 'symbol') refuse(v);
			if (typeof v !== 'object' || v === null) return v;
			if (known.has(v)) return known.get(v);
			if (v instanceof Date) return keep(v, new Date(v.getTime()));
			if (v instanceof RegExp) return keep(v, new RegExp(v.source, v.flags));
			if (v instanceof ArrayBuffer) return keep(v, v.slice(0));
			if (v instanceof DataView) return keep(v, new DataView(clone(v.buffer), v.byteOffset, v.byteLength));
			for (const View of views) {
				if (v instanceof View) return keep(v, new View(clone(v.buffer), v.byteOffset, v.length));
			}
			if (v instanceof Map) {
				const made = keep(v, new Map());
				for (const [key, value] of v) made.set(clone(key), clone(value));
				return made;
			}
			if (v instanceof Set) {
				const made = keep(v, new Set());
				for (const item of v) made.add(clone(item));
				return made;
			}
			if (v instanceof Error) {
				const made = keep(v, new (errors[v.name] || Error)(v.message));
				if ('cause' in v) made.cause = clone(v.cause);
				return made;
			}
			if (v instanceof Promise || v instanceof WeakMap || v instanceof WeakSet) refuse('#<' + v.constructor.name + '>');
			for (const Scalar of [Boolean, Number, String]) {
				if (v instanceof Scalar) return keep(v, Object(v.valueOf()));
			}
			const made = keep(v, Array.isArray(v) ? new Array(v.length) : {});
			for (const key of Object.keys(v)) made[key] = clone(v[key]);
			return made;
		};
		return clone(given);
	}
	return {structuredClone};
})
