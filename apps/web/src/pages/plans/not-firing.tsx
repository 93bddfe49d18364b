import { Alert } from "../../ui/states.tsx";

/** Warns that nothing fires the trigger of a confirmed plan. `what` names the plans. */
export const NotFiring = ({ what }: { what: string }) => (
  <Alert title={`${what} does not fire: no service is running.`}>
    <p className="text-muted">
      Run <code>uncaged-workflow plan service run</code>, or start the console with{" "}
      <code>uncaged-workflow serve</code>.
    </p>
  </Alert>
);
