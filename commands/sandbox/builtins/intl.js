// Intl: formats of numbers and dates. What they are is decided by native, see numberformat.go and dateformat.go.
(function (native) {
	'use strict';
	const locale = (locales) => native.localeOf(...(locales === undefined ? [] : Array.isArray(locales) ? locales.map(String) : [String(locales)]));
	const supported = (locales) => (Array.isArray(locales) ? locales : [locales]).map(String).filter((l) => native.isSupported(l));
	const joined = (parts) => parts.map((part) => part.value).join('');

	// formatter makes a class of resolve(locale, options), which checks and completes the options, and parts(value, resolved).
	const formatter = (resolve, parts, read) => {
		class Formatter {
			#resolved;
			#bound = null;
			constructor(locales, options) { this.#resolved = resolve(locale(locales), Object.assign({}, options)); }
			get format() { return this.#bound || (this.#bound = (v) => joined(this.formatToParts(v))); }
			formatToParts(v) { return parts(read(v), this.#resolved); }
			resolvedOptions() { return Object.assign({}, this.#resolved); }
			static supportedLocalesOf(locales) { return supported(locales === undefined ? [] : locales); }
		}
		// Both can be called without new.
		return new Proxy(Formatter, {apply: (target, self, args) => new target(...args)});
	};
	const number = (v) => typeof v === 'bigint' ? v.toString() : Number(v);
	const time = (v) => {
		const at = v === undefined ? Date.now() : Number(v);
		if (!Number.isFinite(at)) throw new RangeError('Invalid time value');
		return at;
	};
	const dates = (wanted, defaults) => (l, options) => native.dateOptions(l, options, wanted, defaults);
	return {
		Intl: {
			NumberFormat: formatter(native.numberOptions, native.formatNumber, number),
			DateTimeFormat: formatter(dates('any', 'date'), native.formatDate, time),
			getCanonicalLocales: (locales) => locales === undefined ? [] : (Array.isArray(locales) ? locales : [locales]).map(String),
			supportedValuesOf: () => [],
			get [Symbol.toStringTag]() { return 'Intl'; },
		},
		number: (v, locales, options) => joined(native.formatNumber(number(v), native.numberOptions(locale(locales), Object.assign({}, options)))),
		date: (v, locales, options, wanted, defaults) => Number.isNaN(v) ? 'Invalid Date'
			: joined(native.formatDate(v, dates(wanted, defaults)(locale(locales), Object.assign({}, options)))),
	};
})
