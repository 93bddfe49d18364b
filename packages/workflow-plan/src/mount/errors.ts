import { ConfigError } from "../error/error.ts";

/* The errors of mounts and of their allowlist. */

/** The file of allowed and blocked mounts in a plan home. */
export const allowlistFile = "mount-allowlist.json";

/** An invalid allowlist. `problem` follows the path, as in "must be an object". */
export const invalidAllowlist = (path: string, problem: string): ConfigError =>
  new ConfigError(`${path} ${problem}`, {
    hint: "repair the file, or delete it to create a new one",
  });

const invalid = (hostPath: unknown, problem: string): ConfigError =>
  new ConfigError(`invalid mount ${JSON.stringify(hostPath)}: ${problem}`, {
    hint: `change the plan's mounts, or ${allowlistFile} in the plan home`,
  });

export const mountNotObject = (mount: unknown): ConfigError => invalid(mount, "must be an object");

export const relativeMount = (hostPath: unknown): ConfigError =>
  invalid(hostPath, "must be an absolute path, or begin with ~");

export const mountMissing = (hostPath: string): ConfigError => invalid(hostPath, "not found");

export const mountNotFolder = (hostPath: string): ConfigError =>
  invalid(hostPath, "not a directory");

export const wholeFileSystem = (hostPath: string): ConfigError =>
  invalid(hostPath, "the whole file system can't be mounted");

export const blockedMount = (hostPath: string, name: string): ConfigError =>
  invalid(hostPath, `${name} is a blocked name`);

export const outsideRoots = (hostPath: string): ConfigError =>
  invalid(hostPath, "outside the allowed roots");

/** A writable mount that contains the home directory. */
export const writableHome = (hostPath: string): ConfigError =>
  invalid(hostPath, "contains your home directory, so it must be read-only");

/** A writable mount in a read-only root. */
export const readOnlyRoot = (hostPath: string): ConfigError =>
  invalid(hostPath, "must be read-only");

export const mountPathTaken = (hostPath: string, containerPath: string): ConfigError =>
  invalid(hostPath, `another mount has the path ${containerPath}`);

export const containerPathNotText = (hostPath: string): ConfigError =>
  invalid(hostPath, "containerPath must be a string");

export const containerPathUp = (hostPath: string): ConfigError =>
  invalid(hostPath, "containerPath must not contain ..");

export const containerPathEmpty = (hostPath: string): ConfigError =>
  invalid(hostPath, "containerPath must name a folder");
