import { ConfigError } from "../error/error.ts";

/* The errors of secrets and of their file. */

export const invalidSecretName = (name: string): ConfigError =>
  new ConfigError(`${JSON.stringify(name.slice(0, 100))} is not a valid name of a secret`, {
    hint: "use A-Z, 0-9 and _, beginning with a letter, at most 64 characters: GITHUB_TOKEN",
  });

/** The name of a variable that changes the behavior of programs, such as PATH. */
export const reservedSecretName = (name: string): ConfigError =>
  new ConfigError(`${name} is not a valid name of a secret: programs depend on that variable`, {
    hint: "choose another name",
  });

export const secretsReadable = (path: string): ConfigError =>
  new ConfigError(`${path} can be read by other users`, {
    hint: `chmod 600 ${path}, and replace the secrets if other users may have read them`,
  });

const repair = "repair the file in an editor; it stays unchanged until then";

export const secretsNotJson = (path: string): ConfigError =>
  new ConfigError(`${path}: invalid JSON`, { hint: repair });

export const secretsNotObject = (path: string): ConfigError =>
  new ConfigError(`${path} must be an object of names and values`, { hint: repair });

export const emptySecret = (path: string, name: string): ConfigError =>
  new ConfigError(`${path}: ${name} must be a non-empty string`, { hint: repair });
