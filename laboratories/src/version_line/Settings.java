import java.lang.annotation.Annotation;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.stream.Collectors;

/** Prints each setting of Cassandra's class Config with what it takes, and the old names of each. */
public class Settings {
    public static void main(String[] arguments) throws Exception {
        Class<?> config = Class.forName("org.apache.cassandra.config.Config");
        Object fresh = config.getDeclaredConstructor().newInstance();
        for (Field field : config.getFields()) {
            if (Modifier.isStatic(field.getModifiers())) continue;
            boolean isEmpty = field.get(fresh) == null || Arrays.stream(field.getAnnotations())
                .anyMatch(one -> one.annotationType().getSimpleName().equals("Nullable"));
            System.out.println("SETTING " + field.getName() + " " + kind(field.getType()) + (isEmpty ? "?" : ""));
            for (Annotation annotation : field.getAnnotations()) names(annotation, field);
        }
    }

    static void names(Annotation annotation, Field field) throws Exception {
        Class<?> type = annotation.annotationType();
        if (type.getSimpleName().equals("ReplacesList")) {
            Object all = type.getMethod("value").invoke(annotation);
            for (int at = 0; at < Array.getLength(all); at++) names((Annotation) Array.get(all, at), field);
        } else if (type.getSimpleName().equals("Replaces")) {
            Object old = type.getMethod("oldName").invoke(annotation);
            // 4.0 has none: its values stay as they are.
            boolean hasConverter = Arrays.stream(type.getMethods())
                .anyMatch(method -> method.getName().equals("converter"));
            Object converter =
                hasConverter ? type.getMethod("converter").invoke(annotation) : "IDENTITY";
            System.out.println("SETTING " + old + " > " + field.getName() + " " + converter);
        }
    }

    static String kind(Class<?> type) {
        if (type == boolean.class || type == Boolean.class) return "bool";
        if (type == int.class || type == Integer.class) return "int";
        if (type == long.class || type == Long.class) return "long";
        if (type == double.class || type == Double.class) return "number";
        if (type == float.class || type == Float.class) return "number";
        if (type == String.class) return "text";
        if (type.isEnum()) {
            return "one:" + Arrays.stream(type.getEnumConstants())
                .map(one -> ((Enum<?>) one).name()).collect(Collectors.joining("|"));
        }
        Class<?> outer = type.getEnclosingClass();
        String bound = type.getSimpleName();
        if (outer == null || !bound.endsWith("Bound")) return "other";
        String range = bound.startsWith("Int") ? "int" : "long";
        String unit = bound.substring(range.length(), bound.length() - "Bound".length());
        switch (outer.getSimpleName()) {
            case "DurationSpec": return "time:" + range + ":" + unit;
            case "DataStorageSpec": return "size:" + range + ":" + unit;
            case "DataRateSpec": return "rate:" + range + ":" + unit;
            default: return "other";
        }
    }
}
