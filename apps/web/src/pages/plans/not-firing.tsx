import { CircleAlert } from "lucide-react";

/** Warns that nothing fires the trigger of a confirmed plan. `what` names the plans. */
export function NotFiring({ what }: { what: string }) {
  return (
    <div
      role="alert"
      className="flex items-start gap-3 rounded-md border border-red/35 bg-red-soft px-4 py-3"
    >
      <CircleAlert className="mt-[2px] text-red" />
      <div className="flex min-w-0 flex-1 flex-col gap-1 wrap-anywhere">
        <p className="font-semibold">{what} does not fire: no service is running.</p>
        <p className="text-muted">
          Run <code>uncaged-workflow plan service run</code>, or start the console with{" "}
          <code>uncaged-workflow serve</code>.
        </p>
      </div>
    </div>
  );
}
