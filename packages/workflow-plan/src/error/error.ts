import { type ErrorKind, isWorkflowError, WorkflowError } from "@uncaged/workflow";

const brand = Symbol.for("uncaged.workflow.plan.error");

type Options = { kind?: ErrorKind; hint?: string; details?: string[]; cause?: unknown };

/**
 * An error of a plan, with the names and the codes of the protocol. `instanceof` compares a brand and the code, because
 * a bundle has its own copy of this file, in which the classes have other names.
 */
export class CueclawError extends WorkflowError {
  /** The code of all errors of the class; undefined if their codes differ. */
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

/** The model made no valid plan, or its call failed. */
export class PlannerError extends CueclawError {
  static override readonly ownCode = "PLANNER_ERROR";

  constructor(message: string, options?: Options) {
    super(message, PlannerError.ownCode, options);
    this.name = "PlannerError";
  }
}

/** An operation on a plan or a run is refused. */
export class ExecutorError extends CueclawError {
  static override readonly ownCode = "EXECUTOR_ERROR";

  constructor(message: string, options?: Options) {
    super(message, ExecutorError.ownCode, options);
    this.name = "ExecutorError";
  }
}

/** A trigger can never fire, or its check has failed. */
export class TriggerError extends CueclawError {
  static override readonly ownCode = "TRIGGER_ERROR";

  constructor(message: string, options?: Options) {
    super(message, TriggerError.ownCode, options);
    this.name = "TriggerError";
  }
}

/** The configuration, a mount, the sandbox or a secret is invalid. */
export class ConfigError extends CueclawError {
  static override readonly ownCode = "CONFIG_ERROR";

  constructor(message: string, options?: Options) {
    super(message, ConfigError.ownCode, options);
    this.name = "ConfigError";
  }
}
