import { createHash } from "node:crypto";

/** What the names of the folders of a plan home's check scripts begin with. */
export const checkPrefix = (planHome: string): string =>
  `check-${createHash("sha256").update(planHome).digest("hex").slice(0, 12)}-`;
