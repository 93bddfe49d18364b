/** A step's failure on its way out of the constructs around it. It never leaves the interpreter. */
export class Failure extends Error {
  readonly stepID: string;
  readonly error: unknown;

  constructor(stepID: string, error: unknown) {
    super(`${stepID} failed`, { cause: error });
    this.stepID = stepID;
    this.error = error;
  }
}
