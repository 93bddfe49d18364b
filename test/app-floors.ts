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
