import java.lang.annotation.Annotation;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.cassandra.config.YamlConfigurationLoader;
import org.yaml.snakeyaml.introspector.Property;
import org.yaml.snakeyaml.introspector.PropertyUtils;

/**
 * Prints each setting of Cassandra's class Config with what it takes, the parts of the settings that
 * are objects, and the old names of each. Cassandra's own reader of cassandra.yaml answers which parts
 * a class has, and which values of a list, a map or a class it reads.
 */
public class Settings {
    /** Texts of YAML, by their form. The reader takes a form if it takes one of its texts. */
    static final String[][] FORMS = {
        {"bool", "true", "false"},
        {"number", "0", "1", "3", "-1", "1.5"},
        {"text", "\"text\"", "\"\"", "\"a.B\""},
        {"list", "[]", "[a]", "[{class_name: a}]"},
        {"object", "{}"},
    };

    static PropertyUtils parts;
    static Set<?> missing;
    static Path file;

    public static void main(String[] arguments) throws Exception {
        file = Files.createTempFile("settings", ".yaml");
        openParts();
        Class<?> config = Class.forName("org.apache.cassandra.config.Config");
        Object fresh = config.getDeclaredConstructor().newInstance();
        for (Field field : config.getFields()) {
            if (Modifier.isStatic(field.getModifiers())) continue;
            String name = field.getName();
            boolean isEmpty = field.get(fresh) == null || Arrays.stream(field.getAnnotations())
                .anyMatch(one -> one.annotationType().getSimpleName().equals("Nullable"));
            String kind = kind(field.getType());
            if (kind.equals("other")) {
                isEmpty = isTaken(name, "null");
                kind = forms(name, field.getType());
            }
            System.out.println("SETTING " + name + " " + kind + (isEmpty ? "?" : ""));
            for (Annotation annotation : field.getAnnotations()) names("", annotation, field);
            if (hasParts(name, field.getType())) parts(name, field.getType());
        }
        Files.delete(file);
    }

    /** Makes the object with which the reader looks up the parts of a class. It is private in each line. */
    static void openParts() throws Exception {
        Class<?> type = Class.forName(YamlConfigurationLoader.class.getName() + "$PropertiesChecker");
        Constructor<?> make = type.getDeclaredConstructors()[0];
        make.setAccessible(true);
        Object[] empty = Arrays.stream(make.getParameterTypes()).map(one -> Map.of()).toArray();
        parts = (PropertyUtils) make.newInstance(empty);
        Field names = type.getDeclaredField("missingProperties");
        names.setAccessible(true);
        missing = (Set<?>) names.get(parts);
    }

    /** Returns true if the reader fills an object of this class by the names of its parts. */
    static boolean hasParts(String path, Class<?> type) throws Exception {
        return kind(type).equals("other") && type.getName().startsWith("org.apache.cassandra.")
            && isTaken(path, "{}");
    }

    static void parts(String whole, Class<?> type) throws Exception {
        for (String name : possible(type)) {
            Property part = parts.getProperty(type, name);
            if (missing.contains(name)) continue;
            String path = whole + "." + name;
            String kind = kind(part.getType());
            if (kind.equals("other")) kind = forms(path, part.getType());
            System.out.println("SETTING " + path + " " + kind + (isTaken(path, "null") ? "?" : ""));
            if (hasParts(path, part.getType())) parts(path, part.getType());
        }
        for (Class<?> one = type; one != null; one = one.getSuperclass()) {
            for (Field field : one.getDeclaredFields()) {
                for (Annotation annotation : field.getAnnotations()) names(whole + ".", annotation, field);
            }
        }
    }

    /** Returns the names of all fields and setters. Some of them are not parts. */
    static Set<String> possible(Class<?> type) {
        Set<String> names = new TreeSet<>();
        for (Class<?> one = type; one != null; one = one.getSuperclass()) {
            for (Field field : one.getDeclaredFields()) names.add(field.getName());
            for (Method method : one.getDeclaredMethods()) {
                String name = method.getName();
                if (name.length() < 4 || !name.startsWith("set")) continue;
                names.add(Character.toLowerCase(name.charAt(3)) + name.substring(4));
                names.add(name.substring(3));
            }
        }
        return names;
    }

    /** Returns the forms of the values that the reader takes for a list, a map or a class. */
    static String forms(String path, Class<?> type) throws Exception {
        List<String> taken = new ArrayList<>();
        for (String[] form : FORMS) {
            for (int at = 1; at < form.length; at++) {
                if (!isTaken(path, form[at])) continue;
                taken.add(form[0]);
                break;
            }
        }
        // Such a constructor may take some texts, and none of the texts above.
        boolean mayTakeText = Arrays.stream(type.getDeclaredConstructors())
            .filter(one -> one.getParameterCount() == 1).map(one -> one.getParameterTypes()[0])
            .anyMatch(one -> one == String.class || one == Object.class || one.isEnum());
        if (taken.isEmpty() || mayTakeText && !taken.contains("text")) return "other";
        return String.join("|", taken);
    }

    /** Asks the reader about a file with one value. The path names the parts that lead to it. */
    static boolean isTaken(String path, String value) throws Exception {
        String[] names = path.split("\\.");
        String text = value;
        for (int at = names.length - 1; at > 0; at--) text = "{" + names[at] + ": " + text + "}";
        Files.writeString(file, names[0] + ": " + text + "\n");
        try {
            new YamlConfigurationLoader().loadConfig(file.toUri().toURL());
            return true;
        } catch (Exception refused) {
            return false;
        }
    }

    static void names(String whole, Annotation annotation, Field field) throws Exception {
        Class<?> type = annotation.annotationType();
        if (type.getSimpleName().equals("ReplacesList")) {
            Object all = type.getMethod("value").invoke(annotation);
            for (int at = 0; at < Array.getLength(all); at++) {
                names(whole, (Annotation) Array.get(all, at), field);
            }
        } else if (type.getSimpleName().equals("Replaces")) {
            Object old = type.getMethod("oldName").invoke(annotation);
            // 4.0 has none: its values stay as they are.
            boolean hasConverter = Arrays.stream(type.getMethods())
                .anyMatch(method -> method.getName().equals("converter"));
            Object converter =
                hasConverter ? type.getMethod("converter").invoke(annotation) : "IDENTITY";
            System.out.println(
                "SETTING " + whole + old + " > " + whole + field.getName() + " " + converter);
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
