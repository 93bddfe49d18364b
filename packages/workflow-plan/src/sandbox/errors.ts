import { ConfigError } from "../error/error.ts";

/* The errors of a sandbox's settings and choice. */

/** The remedy for using a plan without a sandbox. A plan keeps the mode of its creation. */
export const withoutSandbox =
  "make the plan again without one: uncaged-workflow plan config set sandbox.mode off";

export const notSandbox = (modes: readonly string[]): ConfigError =>
  new ConfigError("sandbox is neither a mode nor an object with a mode", {
    hint: `use one of the modes ${modes.join(", ")}`,
  });

export const unknownOption = (key: string, known: readonly string[]): ConfigError =>
  new ConfigError(`sandbox: unknown option ${JSON.stringify(key)}`, {
    hint: `use one of ${known.join(", ")}`,
  });

/** An invalid option. `expected` lists the valid values, such as "true or false". */
export const invalidOption = (key: string, value: unknown, expected: string): ConfigError =>
  new ConfigError(`invalid sandbox.${key} ${JSON.stringify(value)}`, { hint: `use ${expected}` });

export const requiredButOff = (): ConfigError =>
  new ConfigError("sandbox.required is true, but sandbox.mode is off", {
    hint: "set the mode to auto, or required to false",
  });

/** A missing sandbox that is required or whose mode is not auto. `problems` has one entry per tried kind. */
export const sandboxUnavailable = (mode: string, problems: readonly string[]): ConfigError =>
  new ConfigError(
    `${mode === "auto" ? "a sandbox is required, but none is" : `the sandbox ${mode} is not`} available: ${problems.join("; ")}`,
    { hint: `install bubblewrap 0.8 or later, or ${withoutSandbox}` },
  );
