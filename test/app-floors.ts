/*
 * The folders of the apps, from the ground: an import goes to a lower floor or stays in its folder.
 */

/** Those of the server. */
export const serverFloors: Record<string, number> = {
  shape: 0,
  guard: 1,
  console: 1,
  feed: 1,
  routes: 2,
  runs: 3,
  server: 4,
};

/** Those of the console. */
export const consoleFloors: Record<string, number> = {
  api: 0,
  format: 0,
  theme: 0,
  controls: 1,
  diff: 1,
  events: 1,
  status: 1,
  schema: 2,
  states: 2,
  activity: 3,
  answer: 3,
  confirm: 3,
  fork: 3,
  roles: 3,
  shell: 3,
  source: 3,
  start: 3,
  add: 4,
  compare: 4,
  log: 4,
  threads: 4,
  value: 4,
  versions: 4,
  family: 5,
  graph: 5,
  steps: 5,
  timeline: 5,
  thread: 6,
  workflows: 6,
};
