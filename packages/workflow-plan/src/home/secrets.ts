import { takeLock } from "@uncaged/workflow/internal";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../error/error.ts";
import type { SecretStore } from "../planner/planner.ts";
import { checkSecretName, readSecrets, type Secrets, withoutSecrets } from "../secret/secret.ts";
import { fileLocked } from "../config/errors.ts";
import { invalidSecretValue } from "./errors.ts";

const longestWaitMs = 10_000;

/** The credentials of a plan home: a file that only its owner can read. */
export class SecretFile implements SecretStore {
  readonly #home: string;

  constructor(home: string) {
    this.#home = home;
  }

  /** Returns all credentials with their values. @throws ConfigError */
  readonly all = (): Secrets => readSecrets(this.#home);

  /** Returns the names of the credentials in order. @throws ConfigError */
  names(): string[] {
    return Object.keys(this.all()).toSorted();
  }

  /**
   * Returns a JSON value for a message or a log, without the credentials' values. If the file is unreadable, the values
   * are unknown, so the reason replaces each text.
   */
  hidden<T>(value: T): T {
    try {
      return withoutSecrets(value, this.all());
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return withTexts(value, `(${error.message})`) as T;
    }
  }

  /**
   * Returns a JSON value for storage, without the credentials' values.
   * @throws ConfigError if the file is unreadable.
   */
  readonly masked = <T>(value: T): T => withoutSecrets(value, this.all());

  /** Stores a credential. Replaces a credential with the same name. @throws ConfigError */
  readonly set = (name: string, value: string): void => {
    checkSecretName(name);
    if (value === "" || value.includes("\0")) throw invalidSecretValue(name);
    this.#change((secrets) => ({ ...secrets, [name]: value }));
  };

  /**
   * Removes a credential. Returns false if it was missing.
   * @throws ConfigError
   */
  remove(name: string): boolean {
    if (!Object.hasOwn(this.all(), name)) return false;
    this.#change((secrets) => {
      const { [name]: _, ...others } = secrets;
      return others;
    });
    return true;
  }

  /** Changes the file under a lock. A reader sees the whole file from before or after the change. */
  #change(change: (secrets: Secrets) => Secrets): void {
    const path = join(this.#home, "secrets.json");
    const lock = takeLock(`${path}.lock`, longestWaitMs);
    if (!lock) throw fileLocked(path);
    const aside = `${path}.tmp`;
    try {
      const text = JSON.stringify(change(this.all()), null, 2);
      rmSync(aside, { force: true });
      writeFileSync(aside, `${text}\n`, { mode: 0o600, flag: "wx", flush: true });
      renameSync(aside, path);
    } catch (error) {
      rmSync(aside, { force: true });
      throw error;
    } finally {
      lock.release();
    }
  }
}

/** Replaces each text in a JSON value. */
function withTexts(value: unknown, text: string): unknown {
  if (typeof value === "string") return text;
  if (Array.isArray(value)) return value.map((one) => withTexts(one, text));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withTexts(one, text)]));
}
