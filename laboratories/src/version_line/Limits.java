import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.cassandra.config.Config;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.config.YamlConfigurationLoader;

/**
 * Prints the limits that Cassandra's DatabaseDescriptor sets for settings, beyond their types. The
 * program asks this class about one cassandra.yaml after another, and starts no node. The argument is
 * the path of the line's settings.txt.
 */
public class Limits {
    static final BigInteger ONE = BigInteger.ONE;
    /** Numbers under the type `number` count in steps of 0.0001. */
    static final BigDecimal STEPS = new BigDecimal(10000);
    static final Pattern WORD = Pattern.compile("[a-z][a-z0-9_]*");

    static final Map<String, String> kinds = new TreeMap<>();
    static final Map<String, String> renamed = new TreeMap<>();
    static final Map<String, String> base = new LinkedHashMap<>();
    static final Map<String, BigInteger[]> ranges = new TreeMap<>();
    static final Set<List<String>> pairs = new LinkedHashSet<>();
    static final Set<String> mayBeEmpty = new TreeSet<>();
    static final Set<String> shown = new TreeSet<>();
    static Config fresh;
    static Path file;

    enum Answer { TAKEN, REFUSED, TOGETHER, UNKNOWN }

    public static void main(String[] arguments) throws Exception {
        for (String row : Files.readAllLines(Path.of(arguments[0]))) {
            String[] parts = row.split(" ");
            if (parts[1].endsWith("?")) mayBeEmpty.add(parts[0]);
            if (row.contains(" > ")) renamed.put(parts[0], parts[2]);
            else if (!parts[0].contains(".")) kinds.put(parts[0], parts[1].replace("?", ""));
        }
        Path folder = Files.createTempDirectory("limits");
        file = folder.resolve("cassandra.yaml");
        fillBase(folder);
        fresh = new Config();
        String refused = said(base);
        if (refused != null) throw new IllegalStateException("the base is refused: " + refused);
        for (String name : kinds.keySet()) {
            if (base.containsKey(name) && !name.startsWith("commitlog_sync")) continue;
            String kind = kinds.get(name);
            if (isNumeric(kind)) range(name);
            else if (kind.equals("bool")) words(name, List.of("true", "false"));
            else if (kind.startsWith("one:")) words(name, List.of(kind.substring(4).split("\\|")));
            else if (kind.equals("text")) text(name);
            else if (name.matches(".*_properties_(warned|ignored|disallowed)")) keywords(name);
        }
        for (String name : kinds.keySet()) {
            String fail = name.replace("_warn_", "_fail_");
            if (!fail.equals(name) && kinds.containsKey(fail)) pairs.add(List.of(name, fail));
        }
        Set<String> related = new TreeSet<>();
        for (List<String> pair : List.copyOf(pairs)) relate(pair.get(0), pair.get(1), related);
        for (String name : related) {
            Object value = base.containsKey(name) ? base.get(name) : initial(name);
            // A negative number means "off", so it sets no limit to the other setting.
            boolean isLimit = value != null && !value.toString().startsWith("-");
            if (isLimit) print(name + " = " + value);
        }
        System.exit(0);
    }

    static void print(String row) {
        if (shown.add(row)) System.out.println("LIMIT " + row);
    }

    static void fillBase(Path folder) {
        base.put("cluster_name", "limits");
        base.put("partitioner", "org.apache.cassandra.dht.Murmur3Partitioner");
        base.put("listen_address", "127.0.0.1");
        base.put("rpc_address", "127.0.0.1");
        base.put("endpoint_snitch", "SimpleSnitch");
        base.put("seed_provider", "[{class_name: org.apache.cassandra.locator.SimpleSeedProvider, "
            + "parameters: [{seeds: 127.0.0.1}]}]");
        base.put("data_file_directories", "[" + folder.resolve("data") + "]");
        base.put("commitlog_directory", folder.resolve("log").toString());
        base.put("hints_directory", folder.resolve("hints").toString());
        base.put("saved_caches_directory", folder.resolve("caches").toString());
        base.put("cdc_raw_directory", folder.resolve("cdc").toString());
        base.put("commitlog_sync", "periodic");
        boolean hasUnits = kinds.containsKey("commitlog_sync_period");
        base.put(hasUnits ? "commitlog_sync_period" : "commitlog_sync_period_in_ms",
            hasUnits ? "10000ms" : "10000");
        System.setProperty("cassandra.storagedir", folder.toString());
        // Some static fields of Cassandra's classes load this file, so it must have these settings.
        System.setProperty("cassandra.config", file.toUri().toString());
    }

    /** Returns the server's words about a file, or null if the server accepts the file. */
    static String said(Map<String, String> settings) throws Exception {
        StringBuilder text = new StringBuilder();
        settings.forEach((name, value) -> text.append(name).append(": ").append(value).append('\n'));
        Files.writeString(file, text);
        try {
            Config config = new YamlConfigurationLoader().loadConfig(file.toUri().toURL());
            for (Field field : DatabaseDescriptor.class.getDeclaredFields()) {
                boolean isKept = Set.of("partitioner", "snitch", "paritionerName", "seedProvider")
                    .contains(field.getName());
                if (!isKept || !Modifier.isStatic(field.getModifiers())) continue;
                field.setAccessible(true);
                field.set(null, null);
            }
            call("setConfig", config);
            call("applyAll", null);
            return null;
        } catch (Throwable thrown) {
            Throwable top = thrown instanceof InvocationTargetException ? thrown.getCause() : thrown;
            Throwable root = top;
            while (root.getCause() != null) root = root.getCause();
            boolean isJudgement = top.getClass().getSimpleName().equals("ConfigurationException")
                || root instanceof IllegalArgumentException;
            return (isJudgement ? "" : "? ") + top.getMessage() + " <- " + root.getMessage();
        }
    }

    static void call(String name, Config config) throws Exception {
        Method method = config == null ? DatabaseDescriptor.class.getDeclaredMethod(name)
            : DatabaseDescriptor.class.getDeclaredMethod(name, Config.class);
        method.setAccessible(true);
        if (config == null) method.invoke(null);
        else method.invoke(null, config);
    }

    /** Asks about the base with other settings. Notes each other setting that the answer names. */
    static Answer ask(String name, Map<String, String> others) throws Exception {
        Map<String, String> settings = new LinkedHashMap<>(base);
        if (name.startsWith("commitlog_sync_group_window")) {
            settings.keySet().removeIf(one -> one.startsWith("commitlog_sync_period"));
            settings.put("commitlog_sync", "group");
        }
        if (name.startsWith("minimum_replication_factor")) settings.put("default_keyspace_rf", "1000");
        settings.putAll(others);
        String said = said(settings);
        if (said == null) return Answer.TAKEN;
        if (said.startsWith("? ")) return Answer.UNKNOWN;
        Set<String> named = new TreeSet<>();
        Matcher words = WORD.matcher(said.replace("*", ""));
        while (words.find()) {
            String word = renamed.getOrDefault(words.group(), words.group());
            if (kinds.containsKey(word) && word.contains("_")) named.add(word);
        }
        named.remove(name);
        if (named.isEmpty()) return Answer.REFUSED;
        for (String other : named) pairs.add(List.of(name, other));
        return Answer.TOGETHER;
    }

    static boolean isNumeric(String kind) {
        return kind.matches("int|long|number|(time|size|rate):.*");
    }

    static String unit(String kind) {
        return kind.contains(":") ? kind.substring(kind.lastIndexOf(':') + 1) : "";
    }

    static String write(String name, BigInteger count) {
        String kind = kinds.get(name);
        if (!kind.equals("number")) return count + unit(kind);
        BigDecimal value = new BigDecimal(count).divide(STEPS, 4, RoundingMode.UNNECESSARY);
        return value.signum() == 0 ? "0" : value.stripTrailingZeros().toPlainString();
    }

    static Answer ask(String name, BigInteger count) throws Exception {
        return ask(name, Map.of(name, write(name, count)));
    }

    static BigInteger[] ofType(String kind) {
        if (kind.equals("number")) {
            BigInteger most = new BigInteger("1000000000000");
            return new BigInteger[] {most.negate(), most};
        }
        BigInteger most = ONE.shiftLeft(kind.contains("int") ? 31 : 63).subtract(ONE);
        if (kind.contains(":")) return new BigInteger[] {BigInteger.ZERO, most.subtract(ONE)};
        return new BigInteger[] {most.negate().subtract(ONE), most};
    }

    /** Returns the initial value of the field, or null. */
    static Object initial(String name) throws Exception {
        return Config.class.getField(name).get(fresh);
    }

    /** Returns a number that the server accepts. */
    static BigInteger seed(String name) throws Exception {
        List<BigInteger> all = new ArrayList<>();
        Object value = initial(name);
        if (value instanceof Number && !kinds.get(name).equals("number")) {
            all.add(BigInteger.valueOf(((Number) value).longValue()));
        } else if (value instanceof Number && Double.isFinite(((Number) value).doubleValue())) {
            all.add(new BigDecimal(value.toString()).multiply(STEPS).toBigInteger());
        }
        long[] usual = {1, 2, 10, 32, 100, 1000, 5000, 80000, 1 << 20, 1 << 24};
        for (long one : usual) all.add(BigInteger.valueOf(one));
        for (BigInteger one : all) if (ask(name, one) == Answer.TAKEN) return one;
        return null;
    }

    /** Returns the last number, from a refused one towards an accepted one, that is refused. */
    static BigInteger lastRefused(String name, BigInteger refused, BigInteger taken) throws Exception {
        while (refused.subtract(taken).abs().compareTo(ONE) > 0) {
            BigInteger middle = refused.add(taken).shiftRight(1);
            if (ask(name, middle) == Answer.REFUSED) refused = middle;
            else taken = middle;
        }
        return refused;
    }

    static void range(String name) throws Exception {
        BigInteger[] type = ofType(kinds.get(name));
        BigInteger least = type[0], most = type[1], off = ONE.negate();
        ranges.put(name, type);
        BigInteger seed = seed(name);
        if (seed == null) {
            System.out.println("UNKNOWN " + name);
            return;
        }
        // The answers to these numbers name the settings that must fit this one. An overflow in the
        // server may hide the relation from the largest numbers.
        for (int bits = 0; bits <= 40; bits += 4) {
            BigInteger one = ONE.shiftLeft(bits);
            if (one.compareTo(most) < 0) ask(name, one);
        }
        boolean hasLeast = ask(name, least) == Answer.REFUSED;
        // The server compares this size with the size of the disks.
        boolean isOfDisk = name.equals("data_disk_usage_max_disk_size");
        boolean hasMost = !isOfDisk && ask(name, most) == Answer.REFUSED;
        boolean takesOff = off.compareTo(least) > 0 && ask(name, off) != Answer.REFUSED;
        if (hasLeast) least = lastRefused(name, least, takesOff ? off : seed).add(ONE);
        if (hasMost) most = lastRefused(name, most, seed).subtract(ONE);
        boolean hasHole = least.signum() < 0 && ask(name, BigInteger.ZERO) == Answer.REFUSED;
        if (!hasLeast && !hasMost && !hasHole) return;
        // The server must accept some numbers between the limits, and no number beyond them.
        for (BigInteger step = ONE; step.compareTo(most.subtract(least)) <= 0; step = step.shiftLeft(3)) {
            for (BigInteger one : List.of(least.add(step), most.subtract(step))) {
                boolean isHole = hasHole && one.signum() == 0;
                boolean isSkipped = isHole || isOfDisk;
                if (!isSkipped && ask(name, one) == Answer.REFUSED) {
                    System.out.println("UNKNOWN " + name + " " + one);
                    return;
                }
            }
        }
        ranges.put(name, new BigInteger[] {least, most});
        String row = name + " " + (hasLeast ? write(name, least) : "") + ".."
            + (hasMost ? write(name, most) : "") + (hasHole ? " not 0" : "");
        if (name.startsWith("commitlog_sync_group_window")) row += " if commitlog_sync group";
        if (name.startsWith("commitlog_sync_period")) row += " if commitlog_sync periodic";
        if (row.contains(" if ")) print("commitlog_sync = periodic");
        print(row);
    }

    static void words(String name, List<String> ofType) throws Exception {
        List<String> words = new ArrayList<>(ofType), refused = new ArrayList<>();
        if (mayBeEmpty.contains(name)) words.add("null");
        for (String word : words) {
            Set<List<String>> before = new LinkedHashSet<>();
            before.addAll(pairs);
            Answer answer = ask(name, Map.of(name, word));
            Set<List<String>> found = new LinkedHashSet<>();
            for (List<String> pair : pairs) if (pair.get(0).equals(name)) found.add(pair);
            pairs.retainAll(before);
            if (answer == Answer.REFUSED) refused.add(word);
            for (List<String> pair : found) {
                String other = pair.get(1);
                if (answer != Answer.TOGETHER || !kinds.get(other).equals("bool")) continue;
                String wanted = String.valueOf(!(Boolean) initial(other));
                if (ask(name, Map.of(name, word, other, wanted)) == Answer.TAKEN) {
                    print(name + " " + word + " needs " + other + " " + wanted);
                    print(other + " = " + initial(other));
                }
            }
        }
        if (!refused.isEmpty()) print(name + " not " + String.join("|", refused));
    }

    /** Finds a text that must be a duration. */
    static void text(String name) throws Exception {
        if (ask(name, Map.of(name, "abc")) != Answer.REFUSED) return;
        for (String[] unit : new String[][] {{"ns", ""}, {"us", "ns"}, {"ms", "us"}, {"s", "ms"}, {"m", "s"}}) {
            if (ask(name, Map.of(name, "6" + unit[0])) != Answer.TAKEN) continue;
            boolean isInt = ask(name, Map.of(name, "4294967296" + unit[0])) == Answer.REFUSED;
            print(name + " is time:" + (isInt ? "int" : "long") + ":" + unit[0]);
            return;
        }
        System.out.println("UNKNOWN " + name);
    }

    /** Prints the words of a list of table properties. */
    static void keywords(String name) throws Exception {
        Class<?> attributes = Class.forName("org.apache.cassandra.cql3.statements.schema.TableAttributes");
        if (ask(name, Map.of(name, "[no_such_property]")) != Answer.REFUSED) return;
        for (Method method : attributes.getDeclaredMethods()) {
            if (!method.getName().matches("allKeywords|validKeywords")) continue;
            method.setAccessible(true);
            Set<String> words = new TreeSet<>();
            for (Object one : (Iterable<?>) method.invoke(null)) words.add(one.toString());
            words.add("id");
            words.removeIf(word -> {
                try {
                    return ask(name, Map.of(name, "[" + word + "]")) == Answer.REFUSED;
                } catch (Exception failed) {
                    throw new IllegalStateException(failed);
                }
            });
            print(name + " items " + String.join("|", words));
            return;
        }
        System.out.println("UNKNOWN " + name);
    }

    static BigInteger size(String name) {
        switch (unit(kinds.get(name))) {
            case "us": case "KiB": return BigInteger.valueOf(kinds.get(name).startsWith("size") ? 1024 : 1000);
            case "ms": return BigInteger.valueOf(1000000);
            case "MiB": return BigInteger.valueOf(1 << 20);
            case "s": return BigInteger.valueOf(1000000000L);
            case "m": return BigInteger.valueOf(60000000000L);
            default: return ONE;
        }
    }

    static boolean isTaken(String x, BigInteger ofX, String y, BigInteger ofY) throws Exception {
        return ask(x, Map.of(x, write(x, ofX), y, write(y, ofY))) == Answer.TAKEN;
    }

    /** Finds out how the number of one setting limits the number of the other. */
    static void relate(String x, String y, Set<String> related) throws Exception {
        if (!ranges.containsKey(x) || !ranges.containsKey(y) || kinds.get(x).equals("number")) return;
        String row = null;
        for (long usual : new long[] {64, 48, 16, 8 << 20, 4 << 20, 16384, 5000}) {
            String found = relation(x, y, BigInteger.valueOf(usual));
            if (found == null) continue;
            if (row != null && row.equals(found)) {
                print(row + (isOff(row) ? " unless 0" : ""));
                related.add(x);
                related.add(y);
                return;
            }
            row = found;
        }
        System.out.println("UNKNOWN " + x + " " + y);
    }

    /** Returns true if the number 0 of the larger setting means "off". */
    static boolean isOff(String row) throws Exception {
        String[] words = row.split(" ");
        BigInteger usual = BigInteger.valueOf(64);
        return isTaken(words[1], usual, words[4], BigInteger.ZERO);
    }

    static String relation(String x, String y, BigInteger ofY) throws Exception {
        BigInteger[] ofType = ranges.get(x), otherType = ranges.get(y);
        if (ofY.compareTo(otherType[0]) < 0 || ofY.compareTo(otherType[1]) > 0) return null;
        BigInteger low = ofType[0].max(kinds.get(x).contains(":") ? BigInteger.ZERO : ONE);
        // Some comparisons of the server overflow with larger numbers.
        BigInteger high = ofY.multiply(size(y)).shiftLeft(12).divide(size(x)).min(ofType[1]);
        boolean isLow = isTaken(x, low, y, ofY), isHigh = isTaken(x, high, y, ofY);
        if (isLow == isHigh) return null;
        while (high.subtract(low).compareTo(ONE) > 0) {
            BigInteger middle = high.add(low).shiftRight(1);
            if (isTaken(x, middle, y, ofY) == isLow) low = middle;
            else high = middle;
        }
        // The last number that the server accepts, and the first that it refuses.
        BigInteger taken = (isLow ? low : high).multiply(size(x));
        BigInteger refused = (isLow ? high : low).multiply(size(x));
        BigInteger bound = ofY.multiply(size(y));
        for (int[] ratio : new int[][] {{1, 1}, {2, 1}, {2, 1024}, {1, 1024}}) {
            BigInteger limit = bound.multiply(BigInteger.valueOf(ratio[1]));
            BigInteger of = BigInteger.valueOf(ratio[0]);
            boolean isAt = taken.multiply(of).equals(limit), isBefore = refused.multiply(of).equals(limit);
            if (!isAt && !isBefore) continue;
            String one = ratio[0] + " " + x, other = ratio[1] + " " + y, sign = isAt ? " <= " : " < ";
            return isLow ? one + sign + other : other + sign + one;
        }
        return null;
    }
}
