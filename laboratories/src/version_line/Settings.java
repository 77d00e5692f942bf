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
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.cassandra.config.YamlConfigurationLoader;
import org.yaml.snakeyaml.introspector.BeanAccess;
import org.yaml.snakeyaml.introspector.Property;
import org.yaml.snakeyaml.introspector.PropertyUtils;

/**
 * Prints each setting of Cassandra's class Config with what it takes, the parts of the settings that
 * are objects, and the old names of each. Cassandra's own reader of cassandra.yaml answers which parts
 * a class has, and which values of a list, a map or a class it reads.
 */
public class Settings {
    /** Scalars of YAML, by their form. */
    static final String[][] SCALARS = {
        {"bool", "true", "false"},
        {"number", "0", "1", "-1", "3000000000", "1.5"},
        {"text", "\"text\"", "\"\"", "\"a.B\"", "\"5ms\""},
    };

    static PropertyUtils reader;
    static Path file;

    public static void main(String[] arguments) throws Exception {
        file = Files.createTempFile("settings", ".yaml");
        openReader();
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
    static void openReader() throws Exception {
        Class<?> type = Class.forName(YamlConfigurationLoader.class.getName() + "$PropertiesChecker");
        Constructor<?> make = type.getDeclaredConstructors()[0];
        make.setAccessible(true);
        Object[] empty = Arrays.stream(make.getParameterTypes()).map(one -> Map.of()).toArray();
        reader = (PropertyUtils) make.newInstance(empty);
    }

    /** Returns the parts of a class by their names in cassandra.yaml. */
    static Map<String, Property> partsOf(Class<?> type) throws Exception {
        Map<String, Property> found = new TreeMap<>();
        for (Field field : reader.getClass().getDeclaredFields()) {
            if (!field.getName().equals("loader")) continue;
            field.setAccessible(true);
            Method parts = field.getType().getMethod("getProperties", Class.class);
            for (Map.Entry<?, ?> one : ((Map<?, ?>) parts.invoke(field.get(reader), type)).entrySet()) {
                found.put((String) one.getKey(), (Property) one.getValue());
            }
            return found;
        }
        // The reader of 4.0 leaves this to the library. Its list of parts has getters too.
        Method parts =
            PropertyUtils.class.getDeclaredMethod("getPropertiesMap", Class.class, BeanAccess.class);
        parts.setAccessible(true);
        Map<?, ?> all = (Map<?, ?>) parts.invoke(reader, type, BeanAccess.DEFAULT);
        for (Map.Entry<?, ?> one : all.entrySet()) {
            Property part = (Property) one.getValue();
            if (part.isWritable()) found.put((String) one.getKey(), part);
        }
        return found;
    }

    /** Returns true if the reader fills an object of this class by the names of its parts. */
    static boolean hasParts(String path, Class<?> type) throws Exception {
        return kind(type).equals("other") && type.getName().startsWith("org.apache.cassandra.")
            && isTaken(path, "{}");
    }

    static void parts(String whole, Class<?> type) throws Exception {
        for (Map.Entry<String, Property> one : partsOf(type).entrySet()) {
            String path = whole + "." + one.getKey();
            Property part = one.getValue();
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

    /** Returns the forms of the values that the reader takes for a list, a map or a class. */
    static String forms(String path, Class<?> type) throws Exception {
        List<String> taken = new ArrayList<>();
        for (String[] form : SCALARS) {
            int count = 0;
            for (int at = 1; at < form.length; at++) count += isTaken(path, form[at]) ? 1 : 0;
            // The reader takes only some values of this form, for reasons that a form cannot tell.
            if (count > 0 && count < form.length - 1) return "other";
            if (count > 0) taken.add(form[0]);
        }
        // Such a constructor may take some texts, and none of the texts above.
        boolean mayTakeText = Arrays.stream(type.getDeclaredConstructors())
            .filter(one -> one.getParameterCount() == 1).map(one -> one.getParameterTypes()[0])
            .anyMatch(one -> one == String.class || one == Object.class || one.isEnum());
        if (mayTakeText && !taken.contains("text")) return "other";
        // The form `text` covers every scalar.
        if (taken.contains("text")) taken.removeAll(List.of("bool", "number"));
        boolean isList = type.isArray() || Collection.class.isAssignableFrom(type);
        if (isList || isTaken(path, "[a]") || isTaken(path, "[{class_name: a}]")) taken.add("list");
        if (isTaken(path, "{}")) taken.add("object");
        return taken.isEmpty() ? "other" : String.join("|", taken);
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
