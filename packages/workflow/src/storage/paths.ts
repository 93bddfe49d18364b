import { join } from "node:path";

/** An absolute path that `openRoot` has checked. */
export type Root = string & { readonly __root: true };

/** Where each file of a storage root lies. Ids and hashes must have been checked (`names.ts`). */
export const registryPath = (root: Root) => join(root, "workflow.yaml");
export const bundlesDir = (root: Root) => join(root, "bundles");
export const bundlePath = (root: Root, hash: string) => join(root, "bundles", `${hash}.esm.js`);
export const descriptorPath = (root: Root, hash: string) => join(root, "bundles", `${hash}.yaml`);
export const typesPath = (root: Root, hash: string) => join(root, "bundles", `${hash}.d.ts`);
export const mapPath = (root: Root, hash: string) => join(root, "bundles", `${hash}.map`);
export const logsDir = (root: Root) => join(root, "logs");
export const threadsDir = (root: Root, hash: string) => join(root, "logs", hash);
export const dataPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.data.jsonl`);
export const infoPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.info.jsonl`);
/** What events refer to by `at`: the values that are too long for them. */
export const valuesPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.values.jsonl`);
/** Where `gc` puts what nobody needs any more, for a day. */
export const trashDir = (root: Root) => join(root, "trash");
export const runDir = (root: Root) => join(root, "run");
/** The socket's own name in `runDir`: a whole path may be too long for a Unix socket. */
export const socketName = (hash: string) => `${hash}.sock`;
export const lockPath = (root: Root, hash: string) => join(root, "run", `${hash}.lock`);
export const workerInfoPath = (root: Root, hash: string) => join(root, "run", `${hash}.holder`);
/** The lock under which the registry changes. */
export const registryLockPath = (root: Root) => join(root, "run", "registry.lock");
/** Where the HTTP server listens, and its token. */
export const serverPath = (root: Root) => join(root, "run", "server.json");
export const workerLogPath = (root: Root, hash: string) => join(root, "run", `${hash}.log`);
