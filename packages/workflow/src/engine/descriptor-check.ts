import type { RoleSchemas, StepViolation } from "../bundle/role-schemas.ts";
import type { RoleOutput } from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";

/** The error that a step, from 1, breaks a strict descriptor. */
export const stepRefused = (step: number, problem: string): WorkflowError =>
  WorkflowError.failed(
    "STEP_REFUSED",
    `step ${step}: ${problem}`,
    "make the role and the descriptor agree; it is strict, so the step was not committed",
  );

/** Records that the step of an attempt breaks the descriptor. */
type Warn = (attempt: string | undefined, payload: { role: string; problem: string }) => void;

/**
 * Checks the steps of one thread against the descriptor: a strict one refuses a step before it is committed, else
 * there is a warning after it. Schemas are compiled when the first step is committed, for it waits for nothing.
 */
export class DescriptorCheck {
  readonly #schemas: RoleSchemas;
  readonly #warn: Warn;
  /** The roles that it does not name: each is reported once. */
  readonly #unnamed = new Set<string>();
  #pending: Promise<void> | null = null;

  constructor(schemas: RoleSchemas, warn: Warn) {
    this.#schemas = schemas;
    this.#warn = warn;
  }

  /** Why a step may not be committed, or null. */
  refusal(step: RoleOutput): string | null {
    return this.#schemas.isStrict ? (this.#schemas.violationOf(step)?.problem ?? null) : null;
  }

  /** A step of an attempt is durable. */
  committed(step: RoleOutput, attempt: string | undefined): void {
    if (this.#schemas.isStrict) return;
    const violation = this.#schemas.violationOf(step);
    if (violation === undefined) this.#later(step, attempt);
    else if (violation !== null) this.#report(step.role, violation, attempt);
  }

  /** Resolves when the steps so far are checked; null when they are. */
  settled(): Promise<void> | null {
    return this.#pending;
  }

  #later(step: RoleOutput, attempt: string | undefined): void {
    const before = this.#pending;
    const check = async () => {
      await before;
      await this.#schemas.compile();
      this.committed(step, attempt);
    };
    const pending = check().catch(() => undefined);
    this.#pending = pending;
    void pending.then(() => {
      if (this.#pending === pending) this.#pending = null;
    });
  }

  #report(role: string, { of, problem }: StepViolation, attempt: string | undefined): void {
    if (of === "role" && this.#unnamed.has(role)) return;
    if (of === "role") this.#unnamed.add(role);
    this.#warn(attempt, { role, problem });
  }
}
