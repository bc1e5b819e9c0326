import type { TypedField } from '../../lib/ui/typedfield.ts';
import { t } from '../../lib/i18n.svelte.ts';

export type Settings = Record<string, unknown>;

/** The settings of an index; undefined while its text is no mapping. */
export function settingsOf(parsed: unknown): Settings | undefined {
  return parsed !== null && typeof parsed === 'object' && !Array.isArray(parsed) ? (parsed as Settings) : undefined;
}

/** What everybody who may change the workspace can set. */
export function generalForm(): TypedField {
  const { fields, help } = t.settings;
  return {
    type: 'object',
    properties: {
      name: { type: 'string', title: fields.name, maxLength: 60, required: true },
      slug: { type: 'string', title: fields.slug, description: help.slug, maxLength: 60, required: true },
      description: { type: 'localized:string', title: fields.description, 'ui:widget': 'textarea' },
      photo: { type: 'string', title: fields.photo, description: help.photo },
      labels: { type: 'array', title: fields.labels, items: { type: 'string' } },
    },
  };
}

/** What takes the right to manage security. */
export function pagesForm(): TypedField {
  const { fields, help } = t.settings;
  return {
    type: 'object',
    properties: {
      allowUnsecurePages: { type: 'boolean', title: fields.allowUnsecurePages, description: help.allowUnsecurePages },
    },
  };
}

/** Whether a text is a host name with a dot, as a certificate takes it. */
export function isDomain(text: string): boolean {
  return text.length <= 253 && /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text);
}

/** The line that makes a domain lead here, as a DNS provider takes it. */
export function dnsLine(domain: string, host: string): string {
  const name = `${domain.replace(/\.$/, '')}.`;
  if (/^[\d.]+$/.test(host)) return `${name} A ${host}`;
  return host.includes(':') ? `${name} AAAA ${host.replace(/[[\]]/g, '')}` : `${name} CNAME ${host}.`;
}

/** The parts of settings that a form shows. */
export function partsOf(settings: Settings, form: TypedField): Settings {
  return Object.fromEntries(Object.keys(form.properties ?? {}).flatMap((name) => (settings[name] === undefined ? [] : [[name, settings[name]]])));
}

/** A picture of this server; those of other hosts are not loaded. */
export function ownPicture(photo: unknown): string {
  return typeof photo === 'string' && /^\/(?!\/)/.test(photo) ? photo : '';
}
