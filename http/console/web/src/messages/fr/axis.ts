import type { Messages } from '../en/index.ts';

const axis: Messages['axis'] = {
  at: (time) => `après ${time}`,
  took: (time, from) => `${time}, à partir de ${from}`,
  waited: (time) => `dont ${time} d’attente`,
  failed: 'en échec',
  running: 'en cours',
};
export default axis;
