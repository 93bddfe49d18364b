import { type ComponentProps, type ReactNode, useId } from "react";
import styles from "./field.module.css";

type Around = {
  label: ReactNode;
  hint?: ReactNode;
  /** What is wrong with the value. */
  problem?: string | null;
};

type Wiring = { id: string; "aria-describedby"?: string; "aria-invalid"?: true };

type FieldProps = Around & { children: (wiring: Wiring) => ReactNode };

/** A label, a control, and below it a hint or what is wrong. */
export function Field({ label, hint, problem, children }: FieldProps) {
  const id = useId();
  const note = problem ?? hint;
  const wiring: Wiring = {
    id,
    ...(note !== undefined && note !== null && { "aria-describedby": `${id}-note` }),
    ...(problem && { "aria-invalid": true }),
  };
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        {label}
      </label>
      {children(wiring)}
      {note && (
        <div id={`${id}-note`} className={problem ? styles.problem : styles.hint}>
          {note}
        </div>
      )}
    </div>
  );
}

/** A field of one line. */
export function TextField({ label, hint, problem, ...rest }: Around & ComponentProps<"input">) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(wiring) => <input type="text" {...rest} {...wiring} className={styles.input} />}
    </Field>
  );
}

type AreaProps = Around & ComponentProps<"textarea"> & { code?: boolean };

/** A field of many lines; `code` in a font of one width, without the help of a spelling checker. */
export function TextArea({ label, hint, problem, code = false, ...rest }: AreaProps) {
  const look = `${styles.input} ${styles.area} ${code ? styles.code : ""}`;
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(wiring) => <textarea spellCheck={!code} {...rest} {...wiring} className={look} />}
    </Field>
  );
}

/** A field with a few values to choose from. */
export function SelectField({ label, hint, problem, ...rest }: Around & ComponentProps<"select">) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(wiring) => <select {...rest} {...wiring} className={styles.input} />}
    </Field>
  );
}

type CheckProps = Omit<ComponentProps<"input">, "type"> & { label: ReactNode; hint?: ReactNode };

/** A box to tick. */
export function CheckField({ label, hint, ...rest }: CheckProps) {
  return (
    <label className={styles.check}>
      <input type="checkbox" {...rest} />
      <span>
        {label}
        {hint && <span className={styles.checkHint}>{hint}</span>}
      </span>
    </label>
  );
}
