import { type ErrorKind, isWorkflowError, WorkflowError } from "@uncaged/workflow";

const brand = Symbol.for("uncaged.workflow.plan.error");

type Options = { kind?: ErrorKind; hint?: string; details?: string[]; cause?: unknown };

/**
 * An error of a plan, with the names and the codes of the protocol. `instanceof` goes by a brand and the code: a
 * bundle carries its own copy of this file, and its classes have other names there.
 */
export class CueclawError extends WorkflowError {
  /** The code that all errors of the class have; undefined for all codes. */
  static readonly ownCode: string | undefined = undefined;

  constructor(message: string, code: string, { cause, ...more }: Options = {}) {
    super({ code, message, ...more }, { cause });
    this.name = "CueclawError";
    Object.defineProperty(this, brand, { value: true });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (!isWorkflowError(value) || !(brand in value)) return false;
    return this.ownCode === undefined || this.ownCode === value.code;
  }
}

/** A model made no valid plan, or could not be asked. */
export class PlannerError extends CueclawError {
  static override readonly ownCode = "PLANNER_ERROR";

  constructor(message: string, options?: Options) {
    super(message, PlannerError.ownCode, options);
    this.name = "PlannerError";
  }
}

/** A run can't be done as it was asked for. */
export class ExecutorError extends CueclawError {
  static override readonly ownCode = "EXECUTOR_ERROR";

  constructor(message: string, options?: Options) {
    super(message, ExecutorError.ownCode, options);
    this.name = "ExecutorError";
  }
}

/** A trigger that can never fire, or whose check has failed. */
export class TriggerError extends CueclawError {
  static override readonly ownCode = "TRIGGER_ERROR";

  constructor(message: string, options?: Options) {
    super(message, TriggerError.ownCode, options);
    this.name = "TriggerError";
  }
}

/** The configuration, a mount, the sandbox or a secret is not as it must be. */
export class ConfigError extends CueclawError {
  static override readonly ownCode = "CONFIG_ERROR";

  constructor(message: string, options?: Options) {
    super(message, ConfigError.ownCode, options);
    this.name = "ConfigError";
  }
}
