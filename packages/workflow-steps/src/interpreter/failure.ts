/** A step's failure on its way out of the constructs around it. No Error: it never leaves the interpreter. */
export class Failure {
  readonly stepID: string;
  readonly error: unknown;

  constructor(stepID: string, error: unknown) {
    this.stepID = stepID;
    this.error = error;
  }
}
