/** The user of the steps. If this process is root, the tests also run as an ordinary user. */
export type User = { name: string; id: number; words: string[] };

/** The user of this process. */
export const ownId = process.getuid?.() ?? 0;
const nobody = 65534;
const asNobody = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
const me: User = { name: ownId === 0 ? "root" : "an ordinary user", id: ownId, words: [] };
export const users: User[] =
  ownId !== 0 || Bun.which("setpriv") === null
    ? [me]
    : [me, { name: "an ordinary user", id: nobody, words: asNobody }];

/** The suffix of a test's name if bubblewrap is missing. */
export const missing = Bun.which("bwrap") ? "" : " (left out: bubblewrap is not installed)";
