import { useId } from "react";
import { ownIn } from "../schema/json.ts";
import styles from "./fork.module.css";
import { ValueRow } from "./value-row.tsx";
import type { Edit, Edits } from "./values.ts";

type Props = {
  title: string;
  values: Readonly<Record<string, unknown>>;
  edits: Edits;
  /** The name at which the dialog begins. */
  first: string | undefined;
  onChange: (change: (before: Edits) => Edits) => void;
};

/** Named values, each below the one before. */
export function ValueList({ title, values, edits, first, onChange }: Props) {
  const id = useId();
  const names = Object.keys(values);
  if (names.length === 0) return null;
  return (
    <section aria-labelledby={id}>
      <h3 id={id} className={styles.heading}>
        {title}
      </h3>
      <ul className={styles.values}>
        {names.map((name) => (
          <ValueRow
            key={name}
            name={name}
            value={values[name]}
            edit={ownIn(edits, name)}
            isFirst={name === first}
            onEdit={(edit) => onChange((before) => edited(before, name, edit))}
          />
        ))}
      </ul>
    </section>
  );
}

const edited = (before: Edits, name: string, edit: Edit | null): Edits =>
  Object.fromEntries([
    ...Object.entries(before).filter(([other]) => other !== name),
    ...(edit ? [[name, edit] as const] : []),
  ]);
