import type { Schema } from '../../lib/api/client.ts';

/** The parts of the screen, by their segment of the address. */
export const sections = ['bulk', 'users', 'readiness', 'settings', 'keys', 'cleanup', 'history'] as const;
export type Section = (typeof sections)[number];

export type Setting = Schema<'Config'>['settings'][number];
export type SigningKey = Schema<'SigningKey'>;

/** Whether a setting is not what it is without being set. */
export function isChanged(setting: Pick<Setting, 'source'>): boolean {
  return setting.source !== 'default';
}

export interface ServiceState {
  name: string;
  ready: boolean;
  url?: string;
  modules: { name: string; driver: string; fault?: string }[];
}

/** The services of a report, those that fail first, each with its modules. */
export function servicesOf(report: Schema<'ReadinessReport'>): ServiceState[] {
  return Object.entries(report.services)
    .map(([name, service]) => ({
      name,
      ready: service.status === 'ready',
      url: service.url,
      modules: [
        ...(service.errors ?? []).map((fault) => ({ name: fault.module, driver: fault.driver, fault: `${fault.error}: ${fault.message}` })),
        ...(service.modulesReady ?? service.response?.modulesReady ?? []).map((module) => ({ name: module.module, driver: module.driver })),
      ],
    }))
    .sort((a, b) => Number(a.ready) - Number(b.ready));
}
