/*
 * The folders of the apps, from the ground: an import goes to a lower floor or stays in its folder.
 */

/** Those of the server. */
export const serverFloors: Record<string, number> = {
  schema: 0,
  guard: 1,
  console: 1,
  stream: 1,
  routes: 2,
  runs: 3,
  server: 4,
};

/** Those of the command line: what is printed, one call of a command, what commands share, the commands. */
export const commandLineFloors: Record<string, number> = {
  output: 0,
  session: 1,
  ledger: 1,
  arguments: 2,
  completion: 2,
  doctor: 2,
  project: 2,
  follow: 3,
  commands: 4,
  program: 5,
};
